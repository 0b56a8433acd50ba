"""Writes `ops/reference/settings.md` from the declared settings: `python -m ops.project.settings_reference`."""

from collections.abc import Iterable
from pathlib import Path

from ops.project.env import Setting

PAGE = Path(__file__).resolve().parents[1] / "reference" / "settings.md"
INTRODUCTION = """\
# Settings

Settings come from the environment; `scripts/up` needs none of them. A name that begins with `COMPANION_` and is not in
this table stops the start. Every other name can be read from a file instead: `SECRET_KEY_FILE=/run/secrets/key`. An
invalid value ends the start, or the command, with one sentence and exit code 78.

This page is generated from `ops/project/service_settings.py`.

| name | default | from, to | meaning |
|---|---|---|---|
"""


def render_settings_page(settings: Iterable[Setting]) -> str:
    """The whole page, one row a setting, in the order of declaration."""
    return INTRODUCTION + "".join(
        f"| `{setting.name}` | {setting.default} | {_format_bounds(setting)} | {_format_meaning(setting)} |\n"
        for setting in settings
    )


def _format_bounds(setting: Setting) -> str:
    return "" if setting.low is None else f"{setting.low:,} to {setting.high:,}"


def _format_meaning(setting: Setting) -> str:
    if not setting.former_name:
        return setting.meaning
    return f"{setting.meaning}. The former name `{setting.former_name}` is still read"


if __name__ == "__main__":
    from ops.project.service_settings import DECLARED_SETTINGS

    PAGE.write_text(render_settings_page(DECLARED_SETTINGS))
