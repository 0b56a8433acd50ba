"""PURE: finds in the stderr of pg_restore which object the server rejected. Names only, never a row."""

import re
from collections.abc import Sequence

from ops.backups.run.facts import Difference

IDENTIFIER = r'(?:"(?:[^"]|"")+"|[\w$]+)'
QUALIFIED = rf"{IDENTIFIER}(?:\.{IDENTIFIER})?"
COMMAND = re.compile(
    r"^(?:Command was: |pg_restore: detail: Command was: )(?P<text>.*(?:\n[ \t].*)*)", re.MULTILINE
)
ADD_CONSTRAINT = re.compile(
    rf"ALTER TABLE (?:ONLY )?(?P<table>{QUALIFIED})\s+(?:ADD|VALIDATE) CONSTRAINT (?P<constraint>{IDENTIFIER})"
)
CREATE_INDEX = re.compile(
    rf"CREATE (?:UNIQUE )?INDEX (?P<index>{IDENTIFIER}) ON (?:ONLY )?(?P<table>{QUALIFIED})"
)
REFRESH_VIEW = re.compile(rf"REFRESH MATERIALIZED VIEW (?P<view>{QUALIFIED})")
COPY_FAILED = re.compile(r'COPY failed for table "(?P<table>[^"]+)"')
FUNCTION_CONTEXT = re.compile(
    r"^(?:CONTEXT:  )?(?:PL/\w+|SQL) function \"?(?P<name>[\w.$]+(?:\([\w., \[\]]*\))?)\"?", re.MULTILINE
)
CONSTRAINT_VIOLATED = re.compile(
    r'violates (?P<kind>[a-z -]+?) constraint "(?P<name>[^"]+)"'
    r'|could not create (?P<made>unique index|exclusion constraint) "(?P<made_name>[^"]+)"'
)
NOT_NULL = re.compile(
    r'(?:null value in column|column) "(?P<column>[^"]+)" .*(?:violates not-null|contains null values)'
)
VALUE_FAULTS: Sequence[str] = (
    "invalid input",
    "value too long",
    "out of range",
    "invalid byte sequence",
    "missing data for column",
    "extra data after last",
    "invalid text representation",
    "invalid memory",
    "literal carriage return",
    "no partition of relation",
    "generation expression",
)
MISSING_OBJECT = re.compile(
    r"(?:relation|function|type|column|operator|schema|table|collation|text search \w+) .{0,200} does not exist"
)


def find_refused_object(stderr: str, spoken: str) -> Difference | None:
    """Return what does not restore and why; None if the reason is not known.

    `spoken`: the lines of `stderr` that quote no row and no definition.
    """
    command = _find_command(stderr)
    table = _find_table(command, spoken)
    if found := CONSTRAINT_VIOLATED.search(spoken):
        name = found["name"] or found["made_name"]
        kind = found["kind"] or found["made"].removesuffix(" index").removesuffix(" constraint")
        return _describe_constraint(kind, name, table)
    if found := NOT_NULL.search(spoken):
        return Difference(
            kind="constraint",
            name=f"NOT NULL of {table or 'a table'}.{found['column']}",
            what="rows of the dump violate it, so they are not restored",
        )
    if called := FUNCTION_CONTEXT.search(stderr):
        return _describe_function(called["name"], command, table)
    if table and (any(words in spoken for words in VALUE_FAULTS) or MISSING_OBJECT.search(spoken)):
        return Difference(
            kind="table", name=table, what="it rejects rows of the dump, so they are not restored"
        )
    return None


def _find_command(stderr: str) -> str:
    found = COMMAND.search(stderr)
    return found["text"] if found else ""


def _find_table(command: str, spoken: str) -> str:
    for pattern in (ADD_CONSTRAINT, CREATE_INDEX):
        if found := pattern.search(command):
            return found["table"]
    found = COPY_FAILED.search(spoken)
    return found["table"] if found else ""


def _describe_constraint(kind: str, name: str, table: str) -> Difference:
    why = {
        "foreign key": "rows of the dump have no parent",
        "unique": "the dump contains duplicate rows",
        "check": "rows of the dump violate it, or its function reads a table that is restored later",
    }.get(kind, "rows of the dump violate it")
    return Difference(
        kind="constraint",
        name=f"{name} of table {table}" if table else name,
        what=f"{why}, so the restore ends there",
    )


def _describe_function(name: str, command: str, table: str) -> Difference:
    where = f" of table {table}" if table else ""
    if found := CREATE_INDEX.search(command):
        where = f" of index {found['index']} on {found['table']}"
    elif found := REFRESH_VIEW.search(command):
        where = f" of materialized view {found['view']}"
    elif found := ADD_CONSTRAINT.search(command):
        where = f" of constraint {found['constraint']} of table {found['table']}"
    return Difference(
        kind="function",
        name=name,
        what=f"it fails in a restore{', which needs it for rows' + where if where else ''}; "
        "name other tables in it with their schema, and read none that is restored later",
    )
