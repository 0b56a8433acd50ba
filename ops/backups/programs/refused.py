"""PURE: which object of an archive the server refused to take, from what pg_restore said. Names only, never a row."""

import re
from collections.abc import Sequence

from ops.backups.run.facts import Difference

IDENTIFIER = r'(?:"(?:[^"]|"")+"|[\w$]+)'
QUALIFIED = rf"{IDENTIFIER}(?:\.{IDENTIFIER})?"
COMMAND = re.compile(
    r"^(?:Command was: |pg_restore: detail: Command was: )(?P<text>.*(?:\n[ \t].*)*)", re.MULTILINE
)
ALTERED = re.compile(
    rf"ALTER TABLE (?:ONLY )?(?P<table>{QUALIFIED})\s+(?:ADD|VALIDATE) CONSTRAINT (?P<constraint>{IDENTIFIER})"
)
INDEXED = re.compile(rf"CREATE (?:UNIQUE )?INDEX (?P<index>{IDENTIFIER}) ON (?:ONLY )?(?P<table>{QUALIFIED})")
REFRESHED = re.compile(rf"REFRESH MATERIALIZED VIEW (?P<view>{QUALIFIED})")
COPIED = re.compile(r'COPY failed for table "(?P<table>[^"]+)"')
CALLED = re.compile(
    r"^(?:CONTEXT:  )?(?:PL/\w+|SQL) function \"?(?P<name>[\w.$]+(?:\([\w., \[\]]*\))?)\"?", re.MULTILINE
)
CONSTRAINT = re.compile(
    r'violates (?P<kind>[a-z -]+?) constraint "(?P<name>[^"]+)"'
    r'|could not create (?P<made>unique index|exclusion constraint) "(?P<made_name>[^"]+)"'
)
NOT_NULL = re.compile(
    r'(?:null value in column|column) "(?P<column>[^"]+)" .*(?:violates not-null|contains null values)'
)
VALUES: Sequence[str] = (
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
MISSING = re.compile(
    r"(?:relation|function|type|column|operator|schema|table|collation|text search \w+) .{0,200} does not exist"
)


def refused(stderr: str, spoken: str) -> Difference | None:
    """What does not restore and why, or None where the server's reason is not one of these.

    `spoken`: the lines of `stderr` that quote no row and no definition.
    """
    command = _command(stderr)
    table = _table(command, spoken)
    if found := CONSTRAINT.search(spoken):
        name = found["name"] or found["made_name"]
        kind = found["kind"] or found["made"].removesuffix(" index").removesuffix(" constraint")
        return _constraint(kind, name, table)
    if found := NOT_NULL.search(spoken):
        return Difference(
            kind="constraint",
            name=f"NOT NULL of {table or 'a table'}.{found['column']}",
            what="rows of the dump violate it, so they do not come back",
        )
    if called := CALLED.search(stderr):
        return _function(called["name"], command, table)
    if table and (any(words in spoken for words in VALUES) or MISSING.search(spoken)):
        return Difference(
            kind="table", name=table, what="rows of the dump are refused by it, so they do not come back"
        )
    return None


def _command(stderr: str) -> str:
    found = COMMAND.search(stderr)
    return found["text"] if found else ""


def _table(command: str, spoken: str) -> str:
    for pattern in (ALTERED, INDEXED):
        if found := pattern.search(command):
            return found["table"]
    found = COPIED.search(spoken)
    return found["table"] if found else ""


def _constraint(kind: str, name: str, table: str) -> Difference:
    why = {
        "foreign key": "rows of the dump have no parent",
        "unique": "rows of the dump are there twice",
        "check": "rows of the dump violate it, or its function reads a table that is restored later",
    }.get(kind, "rows of the dump violate it")
    return Difference(
        kind="constraint",
        name=f"{name} of table {table}" if table else name,
        what=f"{why}, so the restore ends there",
    )


def _function(name: str, command: str, table: str) -> Difference:
    where = f" of table {table}" if table else ""
    if found := INDEXED.search(command):
        where = f" of index {found['index']} on {found['table']}"
    elif found := REFRESHED.search(command):
        where = f" of materialized view {found['view']}"
    elif found := ALTERED.search(command):
        where = f" of constraint {found['constraint']} of table {found['table']}"
    return Difference(
        kind="function",
        name=name,
        what=f"it fails in a restore{', which needs it for rows' + where if where else ''}; "
        "name other tables in it with their schema, and read none that is restored later",
    )
