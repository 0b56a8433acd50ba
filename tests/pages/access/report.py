"""The accessibility report: states × checks, green or red, with pictures, as one page under the state folder."""

import json
import os
import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path

LONGEST_FAULT = 400
"""Characters of a fault that the report shows."""
STYLE = """
:root { color-scheme: light dark; --good: #0f5132; --bad: #8c1d18; }
@media (prefers-color-scheme: dark) { :root { --good: #7ddba5; --bad: #ffb4ab; } }
body { margin: 1.5rem; font: 100%/1.5 system-ui, sans-serif; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: 0.4rem 0.6rem; border: 1px solid; text-align: start; vertical-align: top; min-width: 6rem; }
td.green { color: var(--good); } td.red { color: var(--bad); font-weight: 700; }
summary { min-height: 44px; min-width: 44px; cursor: pointer; }
details p { max-width: 40rem; overflow-wrap: anywhere; font-weight: 400; }
a { display: inline-block; min-height: 44px; min-width: 44px; color: inherit; }
:focus-visible { outline: 3px solid; outline-offset: 2px; }
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one state came to: the faults of each check, and the names of its pictures."""

    state: str
    part: str
    """Whose page it is: participants or staff, and in which form it was checked."""
    faults: dict[str, list[str]]
    pictures: list[str] = field(default_factory=list)
    checked_at: str = ""


class Report:
    """A folder with one file for each state, and the page that is made of them after each."""

    def __init__(self, folder: Path, *, expected: dict[str, list[str]]) -> None:
        """`expected`: the states of each part of every run. One that was not checked is red."""
        self.folder = folder
        self.page = folder / "index.html"
        self._expected = expected

    def add(self, state: str, part: str, faults: dict[str, list[str]], pictures: dict[str, bytes]) -> None:
        """Record what a state came to, in place of what it came to before, and write the page anew."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{_name_file(part)}-{_name_file(state)}"
        files = {f"{name}-{_name_file(look)}.png": picture for look, picture in pictures.items()}
        for file, picture in files.items():
            self._replace(self.folder / file, picture)
        checked_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        row = Row(state=state, part=part, faults=faults, pictures=sorted(files), checked_at=checked_at)
        self._replace(self.folder / f"{name}.json", json.dumps(asdict(row), indent=1).encode())
        self._replace(self.page, self._render().encode())

    def _render(self) -> str:
        """The whole page."""
        found = [Row(**json.loads(path.read_text())) for path in sorted(self.folder.glob("*.json"))]
        rows = {(row.part, row.state): row for row in found}
        listed = {part: list(states) for part, states in self._expected.items()}
        for row in found:
            # The long form: it is not expected of every run.
            if row.part not in self._expected:
                listed.setdefault(row.part, []).append(row.state)
        parts = []
        for part, states in listed.items():
            every = [rows.get((part, state)) or Row(state=state, part=part, faults={}) for state in states]
            parts.append(_render_part(part, every))
        return (
            '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Accessibility report</title><style>{STYLE}</style></head>\n<body><main>\n"
            "<h1>Accessibility report</h1>\n"
            "<p>Each state of each page was opened in Chromium and checked. Written by the tests in "
            "tests/pages/access. Hearing, keyboard-only visits and what a browser keeps have tests of their own.</p>\n"
            + "\n".join(parts)
            + "\n</main></body>\n</html>\n"
        )

    def _replace(self, path: Path, content: bytes) -> None:
        """Write a file as a whole: workers of one run share the folder."""
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.write_bytes(content)
        part.replace(path)


def _render_part(part: str, rows: list[Row]) -> str:
    checks = list(dict.fromkeys(name for row in rows for name in row.faults))
    red = sum(bool(faults) for row in rows for faults in row.faults.values())
    missing = sum(not row.faults for row in rows)
    verdict = f"Red: {red} checks failed, {missing} states not checked." if red or missing else "All green."
    heads = "".join(
        f'<th scope="col">{escape(name)}</th>' for name in ["State", *checks, "Pictures", "Checked"]
    )
    label = escape(part)
    return (
        f"<h2>{label}</h2>\n<p><strong>{verdict}</strong></p>\n"
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table><caption>{label}: '
        f"{len(rows)} states × {len(checks)} checks</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n"
        + "\n".join(_render_row(row, checks) for row in rows)
        + "\n</tbody></table></div>"
    )


def _render_row(row: Row, checks: list[str]) -> str:
    if not row.faults:
        return (
            f'<tr><th scope="row">{escape(row.state)}</th>'
            f'<td class="red" colspan="{len(checks) + 2}">Red: not checked</td></tr>'
        )
    cells = "".join(_render_cell(row.faults.get(name)) for name in checks)
    pictures = " ".join(
        f'<a href="{escape(file)}">{escape(file.removesuffix(".png").rsplit("-", 1)[1])}'
        f"<span hidden> of {escape(row.state)}</span></a>"
        for file in row.pictures
    )
    return f'<tr><th scope="row">{escape(row.state)}</th>{cells}<td>{pictures}</td><td>{row.checked_at}</td></tr>'


def _render_cell(faults: list[str] | None) -> str:
    if faults is None:
        return '<td class="red">Red: not checked</td>'
    if not faults:
        return '<td class="green">Green</td>'
    listed = "".join(f"<p>{escape(fault[:LONGEST_FAULT])}</p>" for fault in faults)
    return f'<td class="red"><details><summary>Red: {len(faults)}</summary>{listed}</details></td>'


def _name_file(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
