"""Catalogue query about rights. Rows of (object, role, rights)."""

from collections.abc import Mapping

from ops.backups.reading.catalogue_schemas import NOT_OF_A_TYPE
from ops.backups.reading.catalogue_tables import NAME, OWN_TABLE, exclude_extension_members
from ops.backups.reading.inventory import IS_USER_SCHEMA

# Built-in objects and members of extensions: a dump contains only rights that were changed later.
CAME_WITH_THE_SERVER = f"""
    SELECT 'pg_class'::regclass AS class, c.oid, c.relowner AS owner, c.relacl AS acl FROM pg_class c
    WHERE c.relacl IS NOT NULL AND (c.oid < 16384 OR NOT {exclude_extension_members("pg_class", "c.oid")})
    UNION ALL
    SELECT 'pg_proc'::regclass, p.oid, p.proowner, p.proacl FROM pg_proc p
    WHERE p.proacl IS NOT NULL AND (p.oid < 16384 OR NOT {exclude_extension_members("pg_proc", "p.oid")})
    UNION ALL
    SELECT 'pg_language'::regclass, l.oid, l.lanowner, l.lanacl FROM pg_language l
    WHERE l.lanacl IS NOT NULL AND (l.oid < 16384 OR NOT {exclude_extension_members("pg_language", "l.oid")})
    UNION ALL
    SELECT 'pg_namespace'::regclass, n.oid, n.nspowner, n.nspacl FROM pg_namespace n
    WHERE n.nspacl IS NOT NULL AND (NOT ({IS_USER_SCHEMA}) OR NOT {exclude_extension_members("pg_namespace", "n.oid")})
"""

GRANTS = f"""
SELECT holder, coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC'),
       string_agg(a.privilege_type || CASE WHEN a.is_grantable THEN '*' ELSE '' END, ',' ORDER BY a.privilege_type)
FROM (
    SELECT {NAME} AS holder,
           coalesce(c.relacl, acldefault((CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", c.relowner)) AS acl
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND {OWN_TABLE}
    UNION ALL
    SELECT format('%s.%I', {NAME}, att.attname), att.attacl
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute att ON att.attrelid = c.oid AND att.attacl IS NOT NULL WHERE {OWN_TABLE}
    UNION ALL
    SELECT format('schema %I', n.nspname), coalesce(n.nspacl, acldefault('n', n.nspowner))
    FROM pg_namespace n WHERE {IS_USER_SCHEMA} AND {exclude_extension_members("pg_namespace", "n.oid")}
    UNION ALL
    SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
           coalesce(p.proacl, acldefault('f', p.proowner))
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE {IS_USER_SCHEMA} AND {exclude_extension_members("pg_proc", "p.oid")} AND {NOT_OF_A_TYPE}
    UNION ALL
    SELECT format('type %I.%I', n.nspname, t.typname), coalesce(t.typacl, acldefault('T', t.typowner))
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype IN ('e', 'd', 'r') AND {IS_USER_SCHEMA} AND {exclude_extension_members("pg_type", "t.oid")}
    UNION ALL
    SELECT format('defaults of %s in %s for %s', pg_get_userbyid(f.defaclrole),
                  coalesce(f.defaclnamespace::regnamespace::text, 'every schema'), f.defaclobjtype), f.defaclacl
    FROM pg_default_acl f
    UNION ALL
    SELECT format('language %I', l.lanname), coalesce(l.lanacl, acldefault('l', l.lanowner))
    FROM pg_language l WHERE l.oid >= 16384 AND {exclude_extension_members("pg_language", "l.oid")}
    UNION ALL
    SELECT format('foreign-data wrapper %I', w.fdwname), coalesce(w.fdwacl, acldefault('F', w.fdwowner))
    FROM pg_foreign_data_wrapper w WHERE {exclude_extension_members("pg_foreign_data_wrapper", "w.oid")}
    UNION ALL
    SELECT format('foreign server %I', s.srvname), coalesce(s.srvacl, acldefault('S', s.srvowner))
    FROM pg_foreign_server s WHERE {exclude_extension_members("pg_foreign_server", "s.oid")}
) held CROSS JOIN LATERAL aclexplode(held.acl) a
GROUP BY holder, a.grantee
UNION ALL
SELECT concat_ws(' ', o.type, o.identity), coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC'),
       string_agg(a.privilege_type || CASE WHEN a.is_grantable THEN '*' ELSE '' END, ',' ORDER BY a.privilege_type)
FROM ({CAME_WITH_THE_SERVER}) held LEFT JOIN pg_init_privs i ON i.classoid = held.class AND i.objoid = held.oid
    AND i.objsubid = 0
CROSS JOIN LATERAL aclexplode(held.acl) a CROSS JOIN LATERAL pg_identify_object(held.class, held.oid, 0) o
-- The first superuser of another cluster has another name: what an owner holds says nothing.
WHERE a.grantee <> held.owner
  AND (SELECT array_agg(x::text ORDER BY x::text) FROM unnest(held.acl) x)
      IS DISTINCT FROM (SELECT array_agg(x::text ORDER BY x::text) FROM unnest(i.initprivs) x)
GROUP BY o.type, o.identity, a.grantee
"""

QUESTIONS: Mapping[str, str] = {"grant": GRANTS}
