"""Counts what a database has or depends on and no comparison covers, for the list of what is not proved (D5)."""

from ops.backups.connecting.session import Session
from ops.backups.reading.inventory import IS_USER_SCHEMA

COUNTS = f"""
SELECT 'database settings', count(*) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
WHERE d.datname = current_database()
UNION ALL
SELECT 'foreign tables', count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'f' AND {IS_USER_SCHEMA}
UNION ALL
SELECT 'user mappings', count(*) FROM pg_user_mappings
UNION ALL
SELECT 'extensions', count(*) FROM pg_extension WHERE extname <> 'plpgsql'
UNION ALL
SELECT 'subscriptions', count(*) FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
WHERE d.datname = current_database()
UNION ALL
SELECT 'objects in tablespaces', count(*) FROM pg_class WHERE reltablespace <> 0 AND relkind IN ('r', 'i', 'm')
  AND relisshared = false
UNION ALL
SELECT 'tables of extensions', count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND {IS_USER_SCHEMA} AND EXISTS (
    SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
      AND NOT c.oid = ANY (coalesce(e.extconfig, '{{}}')))
UNION ALL
SELECT 'security labels', count(*) FROM pg_seclabel
UNION ALL
SELECT 'other databases', count(*) FROM pg_database WHERE datname <> current_database() AND NOT datistemplate
  AND datname <> 'postgres' AND datname NOT LIKE 'restore\\_drill\\_%'
"""
ROLES = """
SELECT pg_get_userbyid(holder)::text FROM (
    SELECT refobjid AS holder FROM pg_shdepend s JOIN pg_database d ON d.oid = s.dbid
    WHERE d.datname = current_database() AND s.refclassid = 'pg_authid'::regclass
    UNION SELECT datdba FROM pg_database WHERE datname = current_database()
    UNION SELECT relowner FROM pg_class WHERE oid >= 16384
    UNION SELECT nspowner FROM pg_namespace WHERE oid >= 16384
    UNION SELECT proowner FROM pg_proc WHERE oid >= 16384
    UNION SELECT typowner FROM pg_type WHERE oid >= 16384
) holders WHERE pg_get_userbyid(holder) !~ '^pg_' ORDER BY 1
"""


def count_uncompared(session: Session) -> dict[str, int]:
    """Return {kind: count}, without zeros."""
    return {row[0]: row[1] for row in session.execute(COUNTS.encode()) if row[1]}


def read_roles(session: Session) -> tuple[str, ...]:
    """Read the roles that a restore with owners and grants needs."""
    return tuple(row[0] for row in session.execute(ROLES))
