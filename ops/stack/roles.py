"""The roles of the embedded database: one owns the tables and changes them, one serves and can only use them."""

import psycopg
from psycopg import sql

from ops.stack.errors import ServerFailed

OWNER = "companion_owner"
"""Owns the database and every table. Migrations, backups and restore drills connect as it."""
SERVICE = "companion_service"
"""Web processes, the worker and commands connect as it: rows only, no definitions."""

LOCK = 7_233_150
_IS_THERE = "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = %s"
_PLAIN = "NOSUPERUSER NOCREATEROLE NOREPLICATION NOBYPASSRLS LOGIN"
# Clusters of releases before have tables that the cluster's superuser owns. A column's sequence and an index go with
# their table, and what belongs to an extension stays with it.
_STRAYS = """
SELECT pg_catalog.format('ALTER TABLE %%I.%%I OWNER TO %%I', n.nspname, c.relname, %(owner)s::text)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
  AND c.relowner <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %(owner)s)
  AND NOT EXISTS (
      SELECT 1 FROM pg_catalog.pg_depend d
      WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
        AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
UNION ALL
SELECT pg_catalog.format('ALTER ROUTINE %%s OWNER TO %%I', p.oid::pg_catalog.regprocedure, %(owner)s::text)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'public'
  AND p.proowner <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %(owner)s)
  AND NOT EXISTS (
      SELECT 1 FROM pg_catalog.pg_depend d
      WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e')
"""
_GRANTS = (
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {service}",
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {service}",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public "
    "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {service}",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {service}",
)


def prepare_roles(superuser_url: str) -> None:
    """Make both roles, let one own everything and grant the other its rows. No change where all is so already.

    Raises ServerFailed. It is one transaction, so a start that is broken off leaves the roles as they were.
    """
    try:
        with psycopg.connect(superuser_url, connect_timeout=20) as connection:
            connection.execute("SELECT pg_catalog.pg_advisory_xact_lock(%s)", [LOCK])
            _make(connection, OWNER, "CREATEDB")
            _make(connection, SERVICE, "NOCREATEDB")
            names = {"owner": sql.Identifier(OWNER), "service": sql.Identifier(SERVICE)}
            database = sql.Identifier(connection.info.dbname)
            connection.execute(
                sql.SQL("ALTER DATABASE {database} OWNER TO {owner}").format(database=database, **names)
            )
            for (statement,) in connection.execute(_STRAYS, {"owner": OWNER}).fetchall():
                connection.execute(statement)
            for grant in _GRANTS:
                connection.execute(sql.SQL(grant).format(**names))
    except psycopg.Error as error:
        raise ServerFailed(f"PostgreSQL has started, and its roles could not be made: {error}") from error


def _make(connection: psycopg.Connection, role: str, rights: str) -> None:
    verb = "ALTER" if connection.execute(_IS_THERE, [role]).fetchone() else "CREATE"
    connection.execute(f"{verb} ROLE {role} {_PLAIN} {rights}".encode())
