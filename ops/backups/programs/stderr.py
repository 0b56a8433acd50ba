"""PURE: what pg_dump and pg_restore complain about, without a word of what they quote.

Their messages can hold rows. Only names of objects, roles and extensions are taken out of them. What is not recognised
accuses no backup: it is an ending whose cause has to be looked into.
"""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from ops.backups.programs.refused import refused
from ops.backups.run.facts import Difference

NAME = r'"?(?P<name>[\w.$ -]{1,200}?)"?'
# What the program or the server says itself; DETAIL, CONTEXT, QUERY and the like quote rows and definitions.
SPOKEN = re.compile(
    r"^(?:pg_\w+: (?:error: |detail: Error message from server: )?|ERROR: |FATAL: |PANIC: |out of memory).*",
    re.MULTILINE,
)
OF_THE_SERVER = re.compile(r"(?:ERROR|FATAL|PANIC):  (?P<text>.*)")
AT = re.compile(
    r'(?:COPY failed for table |contents of table |creating \w+ )"?(?P<name>[^":]{1,200})"?', re.MULTILINE
)
RAISED = re.compile(r"^(?:CONTEXT:  )?(?:PL/\w+|SQL) function ", re.MULTILINE)


class Kind(Enum):
    """What an ending is the fault of."""

    SURROUNDINGS = auto()
    """To be mended outside the archive."""
    PASSING = auto()
    """Worth another run later."""
    ARCHIVE = auto()
    """The archive cannot be read."""
    CONTENT = auto()
    """The archive can be read, and what is in it does not restore."""
    SOURCE = auto()
    """The database that was to be dumped cannot be read."""
    UNKNOWN = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """What went wrong. `difference` names the object whose content does not restore."""

    what: str
    mend: str = ""
    kind: Kind = Kind.SURROUNDINGS
    difference: Difference | None = None


FULL = "the disk is full"
KNOWN: Sequence[tuple[str, Complaint]] = (
    (
        r"No space left on device|Disk quota exceeded|could not extend file .*: wrote only|File too large",
        Complaint(what=FULL, mend="Make room, or name a larger disk."),
    ),
    (
        r"invalid page in block|could not read blocks? .* in file|missing chunk number|unexpected chunk number"
        r"|could not open file \"(?:base|pg_tblspc)/|could not access status of transaction"
        r"|compressed (?:pglz|lz4) data is corrupt|invalid memory alloc request size",
        Complaint(what="a page of the database cannot be read", kind=Kind.SOURCE),
    ),
    (
        # pg_dump bounds its wait for a lock by statement_timeout.
        r"canceling statement due to (?:lock|statement) timeout|could not obtain lock|due to conflict with recovery"
        r"|deadlock detected",
        Complaint(
            what="a table is locked by somebody else, a migration perhaps",
            mend="Run this again once it has ended.",
            kind=Kind.PASSING,
        ),
    ),
    (
        r"canceling statement due to user request",
        Complaint(what="somebody ended one of its statements", mend="Run it again."),
    ),
    (
        r"out of shared memory",
        Complaint(
            what="the server's table of locks is full",
            mend="Raise max_locks_per_transaction there, and restart it.",
        ),
    ),
    (
        r"too many clients|remaining connection slots|too many connections",
        Complaint(
            what="the server has no connection left", mend="Drill when fewer are open, or with --jobs 1."
        ),
    ),
    (
        r"server closed the connection|connection to server .* failed|terminating connection|could not receive data"
        r"|SSL connection has been closed|the database system is|no connection to the server"
        r"|could not send data to server|server process .* was terminated",
        Complaint(what="the connection to the server broke"),
    ),
    (
        rf"permission denied to create extension {NAME}$",
        Complaint(
            what="extension {name} may be created by a superuser only",
            mend="Restore into a private server, or create it in template0's place first.",
        ),
    ),
    (
        rf"extension {NAME} is not available",
        Complaint(what="extension {name} is not installed on that server", mend="Install its package there."),
    ),
    (
        rf"role {NAME} does not exist",
        Complaint(
            what="role {name} does not exist on that server",
            mend='CREATE ROLE "{name}" NOLOGIN; or drill with --no-owner.',
        ),
    ),
    (
        rf"must be (?:owner of|able to SET ROLE|member of role) {NAME}$",
        Complaint(
            what="the role that restores may not act for {name}",
            mend="Grant it that role, or drill with --no-owner.",
        ),
    ),
    (
        r"permission denied for (?:\w+ )?(?:table|schema|sequence|view|relation|large object|function|database) "
        rf"{NAME}$",
        Complaint(
            what="the role may not read or write {name}",
            mend="GRANT pg_read_all_data TO the role that dumps.",
        ),
    ),
    (
        rf"permission denied to change owner of (?:foreign-data wrapper|event trigger|publication) {NAME}$",
        Complaint(
            what="the owner of {name} is no superuser on that server",
            mend="Restore into a private server, or drill with --no-owner.",
        ),
    ),
    (
        r"query would be affected by row-level security policy",
        Complaint(what="row security hides rows from the role that dumps", mend="ALTER ROLE … BYPASSRLS;"),
    ),
    (
        r'ERROR:  (?:relation|type|function|schema|trigger|language) "(?P<name>[^"]{1,200})".* already exists',
        Complaint(
            what="{name} is there already, in a database that was just created",
            mend="Look at what else creates objects on that server.",
        ),
    ),
    (
        r"unsupported version .* in file header",
        Complaint(
            what="the archive is of a newer pg_dump than the programs here, or its first bytes are damaged",
            mend="Drill it with the programs of the PostgreSQL it came from (--bin).",
        ),
    ),
    (
        r"did not find magic string|not appear to be a valid|could not read from input file|unexpected end of file"
        r"|could not uncompress|could not decompress|invalid .*compress|could not open input file|corrupt archive"
        r"|incorrect data check|could not close data file|entry ID .* out of range|unrecognized data block type"
        r"|could not find block ID|could not open file \"[^\"]*\.(?:dat|gz|lz4|zst)",
        Complaint(what="the archive cannot be read to its end", kind=Kind.ARCHIVE),
    ),
)
WORKER_DIED = "a worker process died unexpectedly"
OUT_OF_MEMORY = Complaint(
    what="memory ran out, or the archive's table of contents is damaged",
    mend="Look at the machine's memory; drill it with the manifest it was made with.",
)


def complaint(stderr: str, *, code: int) -> Complaint:
    """The first thing it complained about that we know, or as much of the cause as quotes nothing."""
    spoken = "\n".join(SPOKEN.findall(stderr))
    for pattern, known in KNOWN:
        if found := re.search(pattern, spoken, re.MULTILINE):
            name = found.groupdict().get("name") or ""
            named = replace(known, what=known.what.format(name=name), mend=known.mend.format(name=name))
            return _of_the_source(named, spoken) if known.kind is Kind.SOURCE else named
    if (difference := refused(stderr, spoken)) is not None:
        return Complaint(what=str(difference), kind=Kind.CONTENT, difference=difference)
    if re.search(r"^(?:\w+: error: )?out of memory", spoken, re.MULTILINE):
        return OUT_OF_MEMORY
    return Complaint(what=_cause(stderr, spoken, code), mend=_look_into(spoken, code), kind=Kind.UNKNOWN)


def _of_the_source(known: Complaint, spoken: str) -> Complaint:
    at = AT.search(spoken)
    block = re.search(r"\bblocks? (?P<first>\d+)", spoken)
    where = f"block {block['first']} of table {at['name']}" if at and block else ""
    if not where:
        where = f"table {at['name']}" if at else "a table"
    return replace(known, what=f"{where} cannot be read")


def _cause(stderr: str, spoken: str, code: int) -> str:
    ended = f"it was killed by {_signal(-code)}" if code < 0 else f"it ended with exit code {code}"
    if spoken.strip().endswith(WORKER_DIED) and spoken.count("\n") == 0:
        return "one of its processes was killed"
    at = AT.search(spoken)
    where = f" at {at['name']}" if at else ""
    server = OF_THE_SERVER.search(spoken)
    if server is None:
        first = next(iter(spoken.splitlines()), "")
        own = re.sub(r"^pg_\w+: (?:error: )?", "", first)
        return f"{ended}{where}" + (f", saying “{_unquoted(own)}”" if _unquoted(own) else "")
    if RAISED.search(stderr):
        return f"{ended}{where}: a function of the database raised an error"
    return f"{ended}{where}: the server refused a statement, saying “{_unquoted(server['text'])}”"


def _unquoted(text: str) -> str:
    """As much of a message as can hold nothing stored: up to its first quote, without numbers."""
    return re.sub(r"\d+", "…", re.split(r"[\"'(]", text)[0]).strip(" :")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _look_into(spoken: str, code: int) -> str:
    if code == -signal.SIGKILL or WORKER_DIED in spoken:
        return "Memory may have run out: look at the machine's log, and run it again."
    return "Look at the server's log of that moment."
