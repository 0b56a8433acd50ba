"""Is this a direct connection to the database that was asked for (D3)? Asked of every connection a drill opens.

A pooler hands out a backend that is not the one the client shook hands with; that alone decides. A setting sent
with the handshake must come back, a name that surely does not exist must be refused, and the database must be the
one asked for. There is no override: what is not proved direct is not used.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.run.errors import CouldNotRun, Pooler

TOKEN = "drill.token"
ASK = """
SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_database(), pg_catalog.current_setting('drill.token', true),
       (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What one connection said about itself."""

    shaken_hands_with: int
    served_by: int
    asked_for: str
    got: str
    token_sent: str
    token_back: str | None
    oid_expected: int | None = None
    oid: int = 0


def fault(evidence: Evidence) -> str | None:
    """PURE: why this is not a direct connection to the right database, or None when it is."""
    if evidence.shaken_hands_with != evidence.served_by:
        return "a connection pooler stands in front of the server: it answers with another backend"
    if evidence.token_back != evidence.token_sent:
        return "a setting sent while connecting did not arrive: something stands in between"
    if evidence.got != evidence.asked_for:
        return "the database that was asked for was ignored and another one was given"
    if evidence.oid_expected is not None and evidence.oid != evidence.oid_expected:
        return "a database of the right name is not the one that was just created"
    return None


def open_direct(
    address: Address,
    options: Mapping[str, str],
    *,
    setting: str,
    oid: int | None = None,
) -> psycopg.Connection[Any]:
    """Connect, in autocommit, and prove that nothing stands in between. Raises Pooler or CouldNotRun."""
    token = secrets.token_hex(8)
    try:
        connection = address.connect({**options, TOKEN: token})
    except psycopg.OperationalError as error:
        raise _why_not(error, address, setting=setting) from None
    try:
        row = connection.execute(ASK).fetchone()
        assert row is not None
        evidence = Evidence(
            shaken_hands_with=connection.info.backend_pid,
            served_by=row[0],
            asked_for=address.database,
            got=row[1],
            token_sent=token,
            token_back=row[2],
            oid_expected=oid,
            oid=row[3] or 0,
        )
        if found := fault(evidence):
            raise refusal(found, setting=setting)
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_catch_all(address: Address, *, setting: str) -> None:
    """Raise Pooler when a database that surely does not exist is there all the same."""
    absent = address.to(f"absent_{secrets.token_hex(8)}")
    try:
        absent.connect({}).close()
    except psycopg.OperationalError:
        return
    raise refusal("a database that does not exist could be connected to: names are ignored", setting=setting)


def refusal(found: str, *, setting: str) -> Pooler:
    """The refusal every pooler gets."""
    return Pooler(
        f"{setting} is not a direct connection: {found}.",
        mend=f"Set {setting} to the server's own host and port (usually 5432), not the pooler's. "
        "Nothing was created and nothing was written.",
    )


def _why_not(error: psycopg.OperationalError, address: Address, *, setting: str) -> CouldNotRun:
    said = str(error)
    if "unsupported startup parameter" in said:
        return refusal("it refuses a setting sent while connecting, as poolers do", setting=setting)
    if "no such database" in said:
        return refusal("it answers as a pooler does about a database it does not list", setting=setting)
    if "does not exist" in said and "database" in said:
        return CouldNotRun(f"There is no database {address.database} there.", mend=f"Correct {setting}.")
    if "password authentication failed" in said or "no password supplied" in said:
        return CouldNotRun("The server refuses the user or the password.", mend=f"Correct {setting}.")
    if "too many" in said or "remaining connection slots" in said:
        return CouldNotRun("The server has no connection to spare.", mend="Use fewer --jobs, or wait.")
    return CouldNotRun(f"{address.label} cannot be reached.", mend=f"Correct {setting}, or start the server.")
