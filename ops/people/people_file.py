"""PURE. The CSV file of people: read with every fault named by its line, and written so that no cell is a formula.

The first line names the columns, in any order. A file may separate its cells by commas, semicolons or tabs.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from ops.changes import ChangeRefused

COLUMNS = ("role", "name", "sites", "username", "email", "groups")
NEEDED = frozenset({"role", "name", "sites"})
PARTICIPANT, SUPERVISOR, OPERATOR = "participant", "supervisor", "operator"
ROLES = (PARTICIPANT, SUPERVISOR, OPERATOR)
MAX_PEOPLE = 20_000
MAX_SITES = 2_000
MAX_FILE_BYTES = 8_000_000
SEPARATORS = ",;\t|"
SAVE_AGAIN = "Save it as “CSV UTF-8” and try again."

# A spreadsheet reads a cell that begins with one of these as a formula; the full-width forms in some languages. Where
# it separates cells by another sign than the comma, one begins after that sign.
_BEFORE_FORMULA = r"(\A|[,;|\t] *)%s(?='*[=+\-@\t\r＝＋－＠])"
_UNQUOTED = re.compile(_BEFORE_FORMULA % "")
_QUOTED = re.compile(_BEFORE_FORMULA % "'")


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonLine:
    """One person of a file. `line` counts from 1, the line of the columns; `fault` is why it cannot be read."""

    line: int
    cells: Mapping[str, str]
    fault: str = ""

    @property
    def sites(self) -> list[str]:
        """The short names of sites, each once, in order."""
        return _split_slugs(self.cells["sites"])

    @property
    def groups(self) -> list[str]:
        """The short names of groups of sites, each once, in order."""
        return _split_slugs(self.cells["groups"])


def read_people(content: bytes) -> list[PersonLine]:
    """Every line with a person. Raises ChangeRefused where the file as a whole cannot be read."""
    if not content.strip():
        raise ChangeRefused("The file is empty.")
    rows = _split(_decode(content))
    names = [name.strip().casefold() for name in next(rows, (0, []))[1]]
    _check_columns(names)
    people: list[PersonLine] = []
    for line, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if len(people) == MAX_PEOPLE:
            raise ChangeRefused(f"The file names more than {MAX_PEOPLE} people. Divide it.")
        fault = (
            ""
            if len(cells) == len(names)
            else f"it has {len(cells)} cells, and the first line names {len(names)}"
        )
        # zip() stops at the shorter one; a line with a fault is reported and never imported.
        named = {name: _bare(cell.strip()) for name, cell in zip(names, cells, strict=False)}
        cells_by_name = dict.fromkeys(COLUMNS, "") | named
        cells_by_name["role"] = cells_by_name["role"].casefold()
        people.append(PersonLine(line=line, cells=cells_by_name, fault=fault))
    if not people:
        raise ChangeRefused("The file names no person: there is nothing below the line of the columns.")
    if len({slug for person in people for slug in (*person.sites, *person.groups)}) > MAX_SITES:
        raise ChangeRefused(f"The file names more than {MAX_SITES} sites and groups. Divide it.")
    return people


def write_people(file: IO[str], people: Iterable[Sequence[str]]) -> None:
    """Write the columns, then each person's cells in the order of COLUMNS. `read_people` reads back the same cells."""
    # Spreadsheets take a file without this mark for one in the encoding of their own country.
    file.write("\ufeff")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for cells in people:
        writer.writerow([_UNQUOTED.sub(r"\1'", cell) for cell in cells])


def _split_slugs(cell: str) -> list[str]:
    return sorted(set(re.split(r"[\s,;]+", cell)) - {""})


def _bare(cell: str) -> str:
    """The cell without the quotes that keep spreadsheets from computing it."""
    return _QUOTED.sub(r"\1", cell)


def _decode(content: bytes) -> str:
    if len(content) > MAX_FILE_BYTES:
        raise ChangeRefused(f"The file has more than {MAX_FILE_BYTES // 1_000_000} MB. Divide it.")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ChangeRefused(f"The file is in UTF-16. {SAVE_AGAIN}")
    if content.startswith(b"PK\x03\x04"):
        raise ChangeRefused(f"The file is a workbook, not CSV. {SAVE_AGAIN}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ChangeRefused(
            f"Line {line} has a letter that is not UTF-8, so names would be stored wrong. {SAVE_AGAIN}"
        ) from None
    if "\0" in text:
        raise ChangeRefused(f"Line {text.count(chr(10), 0, text.index(chr(0))) + 1} holds a null character.")
    return text


def _split(text: str) -> Iterator[tuple[int, list[str]]]:
    head = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=lambda sign: _count_known(head.split(sign)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            # A quoted cell may go over several lines; a person is named by the first.
            line = reader.line_num + 1
    except csv.Error as error:
        raise ChangeRefused(
            f"Line {line} cannot be read ({error}): look for a quotation mark there."
        ) from None


def _count_known(names: Sequence[str]) -> int:
    return sum(name.strip(' "\r').casefold() in COLUMNS for name in names)


def _check_columns(names: Sequence[str]) -> None:
    listed = ", ".join(COLUMNS)
    if strange := [name for name in names if name not in COLUMNS]:
        raise ChangeRefused(f"The first line names the column {strange[0]!a}. The columns are: {listed}.")
    if missing := sorted(NEEDED - set(names)):
        raise ChangeRefused(
            f"The first line names no column {', '.join(missing)}. The columns are: {listed}."
        )
    doubled, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ChangeRefused(f"The first line names the column {doubled} twice.")
