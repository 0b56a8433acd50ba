"""PURE: diagnoses the stderr of pg_dump and pg_restore without passing on what it quotes.

Their messages may contain rows. Only names of objects, roles and extensions are extracted. An unknown message is never
blamed on the backup: its cause has to be investigated.
"""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from ops.backups.programs.refused_object import find_refused_object
from ops.backups.run.facts import Difference

NAME = r'"?(?P<name>[\w.$ -]{1,200}?)"?'
# Messages of the program or the server. DETAIL, CONTEXT, QUERY and others quote rows and definitions.
MESSAGE_LINES = re.compile(
    r"^(?:pg_\w+: (?:error: |detail: Error message from server: )?|ERROR: |FATAL: |PANIC: |out of memory).*",
    re.MULTILINE,
)
SERVER_MESSAGE = re.compile(r"(?:ERROR|FATAL|PANIC):  (?P<text>.*)")
TABLE_AT_FAULT = re.compile(
    r'(?:COPY failed for table |contents of table |creating \w+ )"?(?P<name>[^":]{1,200})"?', re.MULTILINE
)
RAISED_BY_FUNCTION = re.compile(r"^(?:CONTEXT:  )?(?:PL/\w+|SQL) function ", re.MULTILINE)


class FaultKind(Enum):
    """What caused a program to fail."""

    ENVIRONMENT = auto()
    """Something outside the archive that an operator can correct."""
    TRANSIENT = auto()
    """May succeed if run again later."""
    ARCHIVE = auto()
    """The archive cannot be read."""
    CONTENT = auto()
    """The archive is readable, but its content does not restore."""
    SOURCE = auto()
    """Part of the database to dump cannot be read."""
    UNKNOWN = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """Why a program failed. `difference` names the object that does not restore, for FaultKind.CONTENT."""

    what: str
    mend: str = ""
    kind: FaultKind = FaultKind.ENVIRONMENT
    difference: Difference | None = None


FULL = "the disk is full"
KNOWN_MESSAGES: Sequence[tuple[str, Diagnosis]] = (
    (
        r"No space left on device|Disk quota exceeded|could not extend file .*: wrote only|File too large",
        Diagnosis(what=FULL, mend="Make room, or name a larger disk."),
    ),
    (
        r"invalid page in block|could not read blocks? .* in file|missing chunk number|unexpected chunk number"
        r"|could not open file \"(?:base|pg_tblspc)/|could not access status of transaction"
        r"|compressed (?:pglz|lz4) data is corrupt|invalid memory alloc request size",
        Diagnosis(what="a page of the database cannot be read", kind=FaultKind.SOURCE),
    ),
    (
        # pg_dump applies --lock-wait-timeout as statement_timeout.
        r"canceling statement due to (?:lock|statement) timeout|could not obtain lock|due to conflict with recovery"
        r"|deadlock detected",
        Diagnosis(
            what="a table is locked by another session, perhaps a migration",
            mend="Run this again when it has finished.",
            kind=FaultKind.TRANSIENT,
        ),
    ),
    (
        r"canceling statement due to user request",
        Diagnosis(what="one of its statements was cancelled from outside", mend="Run it again."),
    ),
    (
        r"out of shared memory",
        Diagnosis(
            what="the server's table of locks is full",
            mend="Raise max_locks_per_transaction there, and restart it.",
        ),
    ),
    (
        r"too many clients|remaining connection slots|too many connections",
        Diagnosis(
            what="the server has no free connection",
            mend="Run it with fewer clients connected, or with --jobs 1.",
        ),
    ),
    (
        r"server closed the connection|connection to server .* failed|terminating connection|could not receive data"
        r"|SSL connection has been closed|the database system is|no connection to the server"
        r"|could not send data to server|server process .* was terminated",
        Diagnosis(what="the connection to the server broke"),
    ),
    (
        rf"permission denied to create extension {NAME}$",
        Diagnosis(
            what="extension {name} may be created by a superuser only",
            mend="Restore into a private server, or create the extension on that server first.",
        ),
    ),
    (
        rf"extension {NAME} is not available",
        Diagnosis(what="extension {name} is not installed on that server", mend="Install its package there."),
    ),
    (
        rf"role {NAME} does not exist",
        Diagnosis(
            what="role {name} does not exist on that server",
            mend='CREATE ROLE "{name}" NOLOGIN; or drill with --no-owner.',
        ),
    ),
    (
        rf"must be (?:owner of|able to SET ROLE|member of role) {NAME}$",
        Diagnosis(
            what="the restoring role may not act for {name}",
            mend="Grant it that role, or drill with --no-owner.",
        ),
    ),
    (
        r"permission denied for (?:\w+ )?(?:table|schema|sequence|view|relation|large object|function|database) "
        rf"{NAME}$",
        Diagnosis(
            what="the role may not read or write {name}",
            mend="GRANT pg_read_all_data TO the role that dumps.",
        ),
    ),
    (
        rf"permission denied to change owner of (?:foreign-data wrapper|event trigger|publication) {NAME}$",
        Diagnosis(
            what="the owner of {name} is not a superuser on that server",
            mend="Restore into a private server, or drill with --no-owner.",
        ),
    ),
    (
        r"query would be affected by row-level security policy",
        Diagnosis(what="row security hides rows from the role that dumps", mend="ALTER ROLE … BYPASSRLS;"),
    ),
    (
        r'ERROR:  (?:relation|type|function|schema|trigger|language) "(?P<name>[^"]{1,200})".* already exists',
        Diagnosis(
            what="{name} already exists in a database that was just created",
            mend="Check what else creates objects on that server.",
        ),
    ),
    (
        r"unsupported version .* in file header",
        Diagnosis(
            what="the archive is of a newer pg_dump than the programs here, or its first bytes are damaged",
            mend="Drill it with the programs of the PostgreSQL it came from (--bin).",
        ),
    ),
    (
        r"did not find magic string|not appear to be a valid|could not read from input file|unexpected end of file"
        r"|could not uncompress|could not decompress|invalid .*compress|could not open input file|corrupt archive"
        r"|incorrect data check|could not close data file|entry ID .* out of range|unrecognized data block type"
        r"|could not find block ID|could not open file \"[^\"]*\.(?:dat|gz|lz4|zst)",
        Diagnosis(what="the archive cannot be read to its end", kind=FaultKind.ARCHIVE),
    ),
)
WORKER_DIED = "a worker process died unexpectedly"
OUT_OF_MEMORY = Diagnosis(
    what="memory ran out, or the archive's table of contents is damaged",
    mend="Check the machine's memory, or drill the backup together with its manifest.",
)


def diagnose(stderr: str, *, code: int) -> Diagnosis:
    """Return the diagnosis of the first known message, or as much of the cause as contains no quote."""
    spoken = "\n".join(MESSAGE_LINES.findall(stderr))
    for pattern, known in KNOWN_MESSAGES:
        if found := re.search(pattern, spoken, re.MULTILINE):
            name = found.groupdict().get("name") or ""
            named = replace(known, what=known.what.format(name=name), mend=known.mend.format(name=name))
            return _name_damaged_table(named, spoken) if known.kind is FaultKind.SOURCE else named
    if (difference := find_refused_object(stderr, spoken)) is not None:
        return Diagnosis(what=str(difference), kind=FaultKind.CONTENT, difference=difference)
    if re.search(r"^(?:\w+: error: )?out of memory", spoken, re.MULTILINE):
        return OUT_OF_MEMORY
    return Diagnosis(
        what=_describe_cause(stderr, spoken, code), mend=_suggest_mend(spoken, code), kind=FaultKind.UNKNOWN
    )


def _name_damaged_table(known: Diagnosis, spoken: str) -> Diagnosis:
    at = TABLE_AT_FAULT.search(spoken)
    block = re.search(r"\bblocks? (?P<first>\d+)", spoken)
    where = f"block {block['first']} of table {at['name']}" if at and block else ""
    if not where:
        where = f"table {at['name']}" if at else "a table"
    return replace(known, what=f"{where} cannot be read")


def _describe_cause(stderr: str, spoken: str, code: int) -> str:
    ended = f"it was killed by {_name_signal(-code)}" if code < 0 else f"it ended with exit code {code}"
    if spoken.strip().endswith(WORKER_DIED) and spoken.count("\n") == 0:
        return "one of its processes was killed"
    at = TABLE_AT_FAULT.search(spoken)
    where = f" at {at['name']}" if at else ""
    server = SERVER_MESSAGE.search(spoken)
    if server is None:
        first = next(iter(spoken.splitlines()), "")
        own = re.sub(r"^pg_\w+: (?:error: )?", "", first)
        return f"{ended}{where}" + (f", saying “{_cut_quotes(own)}”" if _cut_quotes(own) else "")
    if RAISED_BY_FUNCTION.search(stderr):
        return f"{ended}{where}: a function of the database raised an error"
    return f"{ended}{where}: the server refused a statement, saying “{_cut_quotes(server['text'])}”"


def _cut_quotes(text: str) -> str:
    """Cut a message at its first quote and mask numbers: what remains contains no stored value."""
    return re.sub(r"\d+", "…", re.split(r"[\"'(]", text)[0]).strip(" :")


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _suggest_mend(spoken: str, code: int) -> str:
    if code == -signal.SIGKILL or WORKER_DIED in spoken:
        return "Memory may have run out: check the machine's log, and run it again."
    return "Check the server's log of that time."
