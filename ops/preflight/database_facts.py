"""What a database says about itself, read in one statement."""

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row

from ops.preflight.pooling import Pooling

OLDEST_MAJOR = 15

# Without the catalogue's schema in front, a schema of the search path could answer instead.
READ = """
SELECT current_user::text AS role, current_database()::text AS database,
       current_setting('transaction_read_only')::boolean AS is_read_only,
       pg_is_in_recovery() AS is_standby,
       pg_encoding_to_char(d.encoding)::text AS encoding,
       CASE WHEN d.datlocprovider = 'c' THEN d.datctype::text ELSE '' END AS letters,
       d.datcollversion IS DISTINCT FROM pg_database_collation_actual_version(d.oid) AS is_collation_outdated,
       current_setting('TimeZone') AS time_zone,
       to_regclass('companion_turn') IS NOT NULL AS finds_tables,
       to_regclass('public.companion_turn') IS NOT NULL AS has_tables,
       r.rolsuper AS is_superuser,
       coalesce((SELECT c.relowner = r.oid FROM pg_class c WHERE c.oid = to_regclass('public.companion_turn')), false)
           AS owns_tables,
       ARRAY(SELECT c.relname::text FROM pg_class c
             WHERE c.relnamespace = to_regnamespace('public') AND c.relkind IN ('r', 'p', 'S')
               AND (c.relname ~ '^(companion|ops|auth|django)_')
               AND NOT CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, 'USAGE')
                   ELSE has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
                        AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') END
             ORDER BY 1) AS tables_without_rights,
       ARRAY(SELECT s.name FROM pg_settings s
             WHERE s.name IN ('statement_timeout', 'idle_session_timeout', 'transaction_timeout') AND s.setting <> '0'
             ORDER BY 1) AS session_limits,
       ARRAY(SELECT s.name FROM pg_settings s
             WHERE s.name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND s.setting = 'off'
             ORDER BY 1) AS unsafe_settings,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections_allowed,
       (SELECT sum(numbackends) FROM pg_stat_database)::int AS connections_used,
       extract(epoch FROM clock_timestamp())::float8 AS clock
FROM pg_database d, pg_roles r
WHERE d.datname = current_database() AND r.rolname = current_user
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseFacts:
    """One database, as the role that connects to it sees it."""

    role: str
    database: str
    is_read_only: bool
    is_standby: bool
    encoding: str
    letters: str
    """The locale of letters where the system's library provides it; empty for ICU and others."""
    is_collation_outdated: bool
    """Whether its indexes of text were made with another version of the locale."""
    time_zone: str
    finds_tables: bool
    has_tables: bool
    """Whether schema public holds the tables of the service."""
    is_superuser: bool
    owns_tables: bool
    tables_without_rights: list[str]
    session_limits: list[str]
    """Settings that end a session or a statement by its age."""
    unsafe_settings: list[str]
    """Settings by which what was stored may be lost in a crash."""
    connections_allowed: int
    connections_used: int
    clock: float
    """Seconds since the epoch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionFacts:
    """What one look at an address found. `database` is None where the server is too old to be asked."""

    version: int
    """As PostgreSQL numbers it: 180006 is 18.6."""
    pooling: Pooling
    database: DatabaseFacts | None
    clock_ahead_s: float = 0.0
    """By how much the server's clock is ahead of this machine's."""

    @property
    def major(self) -> int:
        return self.version // 10_000


async def read_facts(connection: psycopg.AsyncConnection[Any]) -> DatabaseFacts:
    """Return the facts of the database. Raises psycopg.Error."""
    # A database without an encoding would send bytes.
    await connection.execute("SET client_encoding TO 'UTF8'")
    async with connection.cursor(row_factory=class_row(DatabaseFacts)) as cursor:
        await cursor.execute(READ)
        facts = await cursor.fetchone()
        assert facts is not None
        return facts
