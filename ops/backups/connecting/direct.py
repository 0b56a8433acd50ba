"""Direct connections (D3): every connection of a drill is checked for poolers.

A pooler answers with a backend whose pid differs from the handshake's; that alone is decisive. In addition a setting
sent with the handshake must come back, a database that does not exist must be refused, and the database must be the
requested one. There is no override: a connection that is not proved direct is not used.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.run.errors import CouldNotRun, Pooler

TOKEN = "drill.token"
# Qualified names: a schema of the source's search path could define functions of these names.
ASK = """
SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_database(), pg_catalog.current_setting('drill.token', true),
       (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionEvidence:
    """What one connection reports about itself, with what was requested."""

    handshake_pid: int
    backend_pid: int
    database_asked: str
    database_got: str
    token_sent: str
    token_back: str | None
    oid_expected: int | None = None
    oid: int = 0


def find_fault(evidence: ConnectionEvidence) -> str | None:
    """PURE: return why this is not a direct connection to the requested database, or None."""
    if evidence.handshake_pid != evidence.backend_pid:
        return "a connection pooler stands in front of the server: another backend answers"
    if evidence.token_back != evidence.token_sent:
        return "a setting sent while connecting did not arrive: a pooler or proxy is in between"
    if evidence.database_got != evidence.database_asked:
        return "the requested database was ignored and another one answers"
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
        raise explain_connection_error(error, address, setting=setting) from None
    try:
        row = connection.execute(ASK).fetchone()
        assert row is not None
        evidence = ConnectionEvidence(
            handshake_pid=connection.info.backend_pid,
            backend_pid=row[0],
            database_asked=address.database,
            database_got=row[1],
            token_sent=token,
            token_back=row[2],
            oid_expected=oid,
            oid=row[3] or 0,
        )
        if found := find_fault(evidence):
            raise make_refusal(found, setting=setting)
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_catch_all(address: Address, *, setting: str) -> None:
    """Raise Pooler if a database that cannot exist can be connected to."""
    absent = address.with_database(f"absent_{secrets.token_hex(8)}")
    try:
        absent.connect({}).close()
    except psycopg.OperationalError:
        return
    raise make_refusal(
        "a database that does not exist can be connected to: its name is ignored", setting=setting
    )


def make_refusal(found: str, *, setting: str) -> Pooler:
    """Return the error for a connection that is not direct, for the reason `found`."""
    return Pooler(
        f"{setting} is not a direct connection: {found}.",
        mend=f"Set {setting} to the server's own host and port (usually 5432), not the pooler's. "
        "Nothing was created and nothing was written.",
    )


def explain_connection_error(
    error: psycopg.OperationalError, address: Address, *, setting: str
) -> CouldNotRun:
    """Return the CouldNotRun for a connection that could not be opened."""
    # Told apart by words: a failed handshake has no SQLSTATE in psycopg.
    said = str(error)
    if "unsupported startup parameter" in said:
        return make_refusal("it refuses a setting sent while connecting, as poolers do", setting=setting)
    if "no such database" in said:
        return make_refusal("it names a missing database as a pooler does", setting=setting)
    if "does not exist" in said and "database" in said:
        return CouldNotRun(f"There is no database {address.database} there.", mend=f"Correct {setting}.")
    if "password authentication failed" in said or "no password supplied" in said:
        return CouldNotRun("The server refuses the user or the password.", mend=f"Correct {setting}.")
    if "too many" in said or "remaining connection slots" in said:
        return CouldNotRun("The server has no free connection.", mend="Use fewer --jobs, or wait.")
    return CouldNotRun(f"{address.label} cannot be reached.", mend=f"Correct {setting}, or start the server.")
