"""The scratch database: created like the source, marked as a drill's, locked during the run, dropped at its end."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from psycopg import sql

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_scratch
from ops.backups.reading.database_locale import PROVIDERS, format_options
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.facts import Entry
from ops.backups.run.run_folder import Marker

DROP_TRIES = 2
DROP_PAUSE_S = 0.5
CONNECTED = """
SELECT DISTINCT coalesce(nullif(application_name, ''), backend_type) || ' as ' || coalesce(usename, '?')
FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid() ORDER BY 1
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scratch:
    """The scratch database of a run."""

    address: Address
    oid: int
    setting: str

    def open(self) -> Session:
        """Open a direct session, checked to be on the database that was created."""
        return open_scratch(self.address, setting=self.setting, oid=self.oid)


def compute_lock_key(name: str) -> int:
    """PURE: return the key of the advisory lock that a run holds while its scratch database is in use."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)


def create(server: Session, marker: Marker, *, like: Entry, owner: str | None) -> int:
    """Create and mark the database; return its OID. `server` holds its lock until closed."""
    # Before the database exists: a cleaning run never sees it without its lock.
    taken = server.execute("SELECT pg_try_advisory_lock(%s)", [compute_lock_key(marker.scratch)]).fetchone()
    assert taken == (True,), "the name of a run is drawn at random"
    name = sql.Identifier(marker.scratch)
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0 {} {}").format(
        name,
        format_options(like),
        sql.SQL("OWNER {}").format(sql.Identifier(owner)) if owner else sql.SQL(""),
    )
    try:
        server.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        raise CouldNotRun(
            "The role may not create a database.", mend=f"ALTER ROLE {server.info.user} CREATEDB;"
        ) from None
    except psycopg.errors.DiskFull:
        raise CouldNotRun("The scratch server's disk is full.", mend="Make room there.") from None
    except psycopg.errors.FeatureNotSupported:
        raise CouldNotRun(
            f"The scratch server was built without the source's locale provider ({PROVIDERS[like['provider']]}).",
            mend="Name programs that support it with --bin, such as /usr/lib/postgresql/18/bin, or a server with "
            "--target.",
        ) from None
    except (psycopg.errors.WrongObjectType, psycopg.errors.InvalidParameterValue):
        raise CouldNotRun(
            f"The scratch server does not know the source's locale {like.get('collate')}.",
            mend="Install it there (locale-gen), or name another server with --target.",
        ) from None
    comment = sql.SQL("COMMENT ON DATABASE {} IS {}").format(name, sql.Literal(marker.to_json()))
    server.execute(comment)
    # The copy contains everything people wrote: only its owner may connect.
    server.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
    row = server.execute("SELECT oid FROM pg_database WHERE datname = %s", [marker.scratch]).fetchone()
    assert row is not None
    return int(row[0])


def drop(server: Session, name: str, *, sleep: Callable[[float], None] = time.sleep) -> list[str]:
    """Drop a database, with FORCE if it is in use; return the sessions that still use it, or []."""
    plain = sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name))
    forced = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    # Without FORCE first: a session that is closing is gone at the second try.
    for statement in [*[plain] * DROP_TRIES, *[forced] * DROP_TRIES]:
        # FORCE needs the right to end the other sessions; without it the drop is refused, and their names are reported.
        try:
            server.execute(statement)
            return []
        except (psycopg.errors.ObjectInUse, psycopg.errors.InsufficientPrivilege):
            sleep(DROP_PAUSE_S)
    return [row[0] for row in server.execute(CONNECTED, [name])] or ["a session that has just ended"]
