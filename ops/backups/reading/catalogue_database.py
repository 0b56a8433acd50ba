"""Catalogue queries about the database as a whole: settings, rights, publications, large objects.

A dump without --create omits the kinds in NOT_IN_A_DUMP: a drill cannot prove them, `check_restored` compares them.
"""

from collections.abc import Mapping

from ops.backups.reading.catalogue_tables import exclude_extension_members

NOT_IN_A_DUMP = frozenset({"database setting", "database grant", "database owner"})

SETTINGS = """
SELECT split_part(setting, '=', 1) || CASE WHEN s.setrole = 0 THEN '' ELSE ' for ' || s.setrole::regrole END,
       part, value
FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase CROSS JOIN LATERAL unnest(s.setconfig) setting
CROSS JOIN LATERAL (VALUES
    ('parameter', split_part(setting, '=', 1)),
    ('role', CASE WHEN s.setrole <> 0 THEN pg_get_userbyid(s.setrole)::text END),
    ('value', substr(setting, strpos(setting, '=') + 1))
) AS parts (part, value)
WHERE d.datname = current_database()
"""

OWNER = """
SELECT 'itself', part, value FROM pg_database d CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(d.datdba)::text),
    ('limit of connections', d.datconnlimit::text)) AS parts (part, value)
WHERE d.datname = current_database()
"""

DATABASE_GRANTS = """
SELECT 'itself', CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END,
       string_agg(a.privilege_type || CASE WHEN a.is_grantable THEN '*' ELSE '' END, ',' ORDER BY a.privilege_type)
FROM pg_database d CROSS JOIN LATERAL aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
WHERE d.datname = current_database() AND a.grantee <> d.datdba GROUP BY a.grantee
"""

PUBLICATIONS = f"""
SELECT quote_ident(p.pubname), part, value FROM pg_publication p CROSS JOIN LATERAL to_jsonb(p) j
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(p.pubowner)::text),
    ('what', concat_ws(' ', p.puballtables, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, p.pubviaroot,
                       j->>'pubgencols')),
    ('tables', (SELECT string_agg(r.prrelid::regclass::text, ',' ORDER BY r.prrelid::regclass::text)
                FROM pg_publication_rel r WHERE r.prpubid = p.oid)),
    ('columns', (SELECT string_agg(format('%s.%I', r.prrelid::regclass, a.attname), ','
                                   ORDER BY r.prrelid::regclass::text, a.attname)
                 FROM pg_publication_rel r JOIN pg_attribute a ON a.attrelid = r.prrelid AND a.attnum = ANY (r.prattrs)
                 WHERE r.prpubid = p.oid)),
    ('conditions on rows', (SELECT string_agg(format('%s: %s', r.prrelid::regclass, pg_get_expr(r.prqual, r.prrelid)),
                                              ',' ORDER BY r.prrelid::regclass::text)
                            FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prqual IS NOT NULL)),
    ('schemas', (SELECT string_agg(s.pnnspid::regnamespace::text, ',' ORDER BY s.pnnspid::regnamespace::text)
                 FROM pg_publication_namespace s WHERE s.pnpubid = p.oid))
) AS parts (part, value)
WHERE {exclude_extension_members("pg_publication", "p.oid")}
"""

# One row for all, because there may be millions. Read only at the snapshot, because they change as rows do.
LARGE_OBJECTS = """
SELECT 'all', 'owner', string_agg(concat_ws(' ', role, many, which), ',' ORDER BY role)
FROM (SELECT pg_get_userbyid(lomowner)::text AS role, count(*) AS many,
             sum(hashint8extended(oid::bigint, 0)) AS which
      FROM pg_largeobject_metadata GROUP BY lomowner) owned
HAVING count(*) > 0
UNION ALL
SELECT 'all', 'grants', string_agg(concat_ws(' ', role, many, which), ',' ORDER BY role)
FROM (SELECT coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC') AS role, count(*) AS many,
             sum(hashtextextended(a.privilege_type || a.is_grantable, m.oid::bigint)) AS which
      FROM pg_largeobject_metadata m CROSS JOIN LATERAL aclexplode(coalesce(m.lomacl, acldefault('L', m.lomowner))) a
      GROUP BY a.grantee) granted
HAVING count(*) > 0
"""

QUESTIONS: Mapping[str, str] = {
    "database setting": SETTINGS,
    "database grant": DATABASE_GRANTS,
    "database owner": OWNER,
    "publication": PUBLICATIONS,
}
