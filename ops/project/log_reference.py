"""Writes `ops/reference/log.md` from the calls that log: `python -m ops.project.log_reference`."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ops.project.structured_logs import EVENT, parse_placeholders

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "ops" / "reference" / "log.md"
ROOMS = ("companion", "ops", "personas", "routing", "validation")
LEVELS = ("critical", "error", "warning", "info")
INTRODUCTION = """\
# The log

Every line has an event, whose name does not change, and fields: numbers, codes and names of lanes, presets and files,
never anything that a person wrote. `COMPANION_LOG` chooses how it is written:

| `COMPANION_LOG` | a line is | find a turn with |
|---|---|---|
| `line` | time, level, logger, event, fields as `name=value` | `grep 'turn=42 '` |
| `json` | a document: those, the process and the references | `jq 'select(.turn == 42)'` |
| `journal` | an entry of the systemd journal, with the same as fields | `journalctl COMPANION_TURN=42` |

A document has `at` (UTC), `level`, `logger`, `pid`, `event` and `message`, with a failure also `exception`: its class,
and the places it passed through. Fields of the journal bear these names in capitals after `COMPANION_`.

**References** lead from the page to the provider, in `json` and `journal`. `request` is that of a page's request, or
of a socket for as long as it is open: the answer carries it as `X-Request-ID`, and the proxy's log ends with it. Lines
that are written while a turn is driven have its `turn`, and the `request` of the socket that asked for it. The provider
is sent `X-Request-Id: turn-42` with each call. `flag.raised` names a flag with its turn, and later lines about it have
`flag`. `turn.ended` is written once for each turn.

This page is generated from the code. Lines of libraries have the event `log.line`.

| event | level | fields | logger |
|---|---|---|---|
"""


@dataclass(frozen=True, kw_only=True, order=True, slots=True)
class LogCall:
    """One place that logs. `template` is its message before the values are put in; empty if it is computed."""

    template: str
    level: str
    logger: str
    line: int

    @property
    def event(self) -> str:
        """The event; empty for a message that does not begin with one."""
        found = EVENT.match(self.template)
        return found[0] if found else ""


def find_log_calls() -> Iterator[LogCall]:
    """Every call of a module's `log`, in all rooms."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            logger = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield from _find_in(ast.parse(path.read_text(encoding="utf-8")), logger)


def _find_in(tree: ast.Module, logger: str) -> Iterator[LogCall]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_log = isinstance(node.func.value, ast.Name) and node.func.value.id == "log"
        if is_log and node.func.attr in LEVELS and node.args:
            first = node.args[0]
            template = first.value if isinstance(first, ast.Constant) else ""
            yield LogCall(template=str(template), level=node.func.attr, logger=logger, line=node.lineno)


def render_log_page(calls: Iterable[LogCall]) -> str:
    """The whole page: one row for each event of a logger."""
    rows = {
        f"| `{call.event}` | {call.level} | {_format_fields(call.template)} | `{call.logger}` |\n"
        for call in calls
        if call.event
    }
    return INTRODUCTION + "".join(sorted(rows))


def _format_fields(template: str) -> str:
    return ", ".join(f"`{name}`" for name in parse_placeholders(template) if name)


if __name__ == "__main__":
    PAGE.write_text(render_log_page(find_log_calls()))
