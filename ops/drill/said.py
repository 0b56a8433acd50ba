"""PURE: what pg_dump and pg_restore complain about, without a word of what they quote.

Their messages can hold rows. Only names of objects, roles and extensions are taken out of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

TOC_ENTRY = re.compile(r"from TOC entry \d+; \d+ \d+ (?P<what>[A-Z]+(?: [A-Z]+)*) (?P<name>\S+(?: \S+)?)")
NAME = r'"?(?P<name>[\w.$ -]{1,200}?)"?'


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """What went wrong. `is_surroundings`: not the archive's fault. `is_passing`: worth another run later."""

    what: str
    mend: str = ""
    is_surroundings: bool = False
    is_passing: bool = False


KNOWN: Sequence[tuple[str, Complaint]] = (
    (
        r"No space left on device|could not extend file|Disk quota exceeded",
        Complaint(what="the disk is full", mend="Make room, or name a larger disk.", is_surroundings=True),
    ),
    (
        r"canceling statement due to lock timeout|could not obtain lock|terminating connection due to conflict",
        Complaint(
            what="a table is locked by somebody else, a migration perhaps",
            mend="Run this again once it has ended.",
            is_passing=True,
        ),
    ),
    (
        r"server closed the connection|connection to server .* failed|terminating connection|could not receive data"
        r"|SSL connection has been closed|the database system is|no connection to the server",
        Complaint(what="the connection to the server broke", is_surroundings=True),
    ),
    (
        rf"permission denied to create extension {NAME}$",
        Complaint(
            what="extension {name} may be created by a superuser only",
            mend="Restore into a private server, or create it in template0's place first.",
            is_surroundings=True,
        ),
    ),
    (
        rf"extension {NAME} is not available",
        Complaint(
            what="extension {name} is not installed on that server",
            mend="Install its package there.",
            is_surroundings=True,
        ),
    ),
    (
        rf"role {NAME} does not exist",
        Complaint(
            what="role {name} does not exist on that server",
            mend='CREATE ROLE "{name}" NOLOGIN; or drill with --no-owner.',
            is_surroundings=True,
        ),
    ),
    (
        rf"must be (?:owner of|able to SET ROLE|member of role) {NAME}",
        Complaint(
            what="the role that restores may not act for {name}",
            mend="Grant it that role, or drill with --no-owner.",
            is_surroundings=True,
        ),
    ),
    (
        rf"permission denied for (?:table|schema|sequence|view|relation|large object|function) {NAME}$",
        Complaint(
            what="the role may not read or write {name}",
            mend="GRANT pg_read_all_data TO the role that dumps.",
            is_surroundings=True,
        ),
    ),
    (
        r"query would be affected by row-level security policy",
        Complaint(
            what="row security hides rows from the role that dumps",
            mend="ALTER ROLE … BYPASSRLS;",
            is_surroundings=True,
        ),
    ),
    (
        r"did not find magic string|input file .* not appear to be a valid|unsupported version .* in file header"
        r"|could not read from input file|unexpected end of file|could not uncompress|invalid .*compress"
        r"|could not open input file|corrupt|incorrect data check",
        Complaint(what="the archive cannot be read to its end"),
    ),
)


def complaint(stderr: str, *, code: int) -> Complaint:
    """The first thing it complained about that we know, or its exit code and the object it was at."""
    for pattern, known in KNOWN:
        if found := re.search(pattern, stderr, re.MULTILINE):
            name = found.groupdict().get("name") or ""
            return Complaint(
                what=known.what.format(name=name),
                mend=known.mend.format(name=name),
                is_surroundings=known.is_surroundings,
                is_passing=known.is_passing,
            )
    at = TOC_ENTRY.search(stderr)
    where = f" at {at['what'].lower()} {at['name']}" if at else ""
    return Complaint(what=f"it ended with exit code {code}{where}")
