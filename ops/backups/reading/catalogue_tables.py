"""Catalogue queries about tables and what belongs to them. Rows of (name, part, text), without NULLs.

Names are quoted SQL, never numbers: a restore changes attnum, conkey and OIDs.
"""

from collections.abc import Mapping

from ops.backups.reading.inventory import IS_USER_SCHEMA


def exclude_extension_members(catalogue: str, oid: str) -> str:
    """SQL condition: the object was not created by CREATE EXTENSION."""
    return (
        f"NOT EXISTS (SELECT FROM pg_depend de WHERE de.classid = '{catalogue}'::regclass "
        f"AND de.objid = {oid} AND de.deptype = 'e')"
    )


OWN_TABLE = (
    f"{IS_USER_SCHEMA} AND c.relpersistence <> 't' AND {exclude_extension_members('pg_class', 'c.oid')}"
)
FROM_TABLE = "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
NAME = "format('%I.%I', n.nspname, c.relname)"

RELATIONS = f"""
SELECT {NAME}, part, value FROM {FROM_TABLE}
CROSS JOIN LATERAL (VALUES
    ('kind', c.relkind::text),
    ('persistence', c.relpersistence::text),
    ('owner', pg_get_userbyid(c.relowner)::text),
    ('access method', (SELECT amname::text FROM pg_am WHERE oid = c.relam)),
    ('options', (SELECT string_agg(o, ',' ORDER BY o) FROM unnest(c.reloptions) o)),
    ('options of its TOAST', (SELECT string_agg(o, ',' ORDER BY o) FROM pg_class t, unnest(t.reloptions) o
                              WHERE t.oid = c.reltoastrelid)),
    ('partition of', pg_get_expr(c.relpartbound, c.oid)),
    ('partitioned by', CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END),
    ('parents', (SELECT string_agg(i.inhparent::regclass::text, ',' ORDER BY i.inhseqno)
                 FROM pg_inherits i WHERE i.inhrelid = c.oid)),
    ('row security', concat(c.relrowsecurity, ' ', c.relforcerowsecurity)),
    ('replica identity', c.relreplident::text),
    ('of type', CASE WHEN c.reloftype <> 0 THEN c.reloftype::regtype::text END),
    ('populated', CASE WHEN c.relkind = 'm' THEN c.relispopulated::text END)
) AS parts (part, value)
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c') AND {OWN_TABLE}
"""

COLUMNS = f"""
SELECT format('%s.%I', {NAME}, a.attname), part, value FROM {FROM_TABLE}
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type ty ON ty.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
CROSS JOIN LATERAL (VALUES
    ('on', {NAME}),
    ('type', format_type(a.atttypid, a.atttypmod)),
    ('NOT NULL', a.attnotnull::text),
    ('default', pg_get_expr(d.adbin, d.adrelid)),
    ('identity', nullif(a.attidentity::text, '')),
    ('generated', nullif(a.attgenerated::text, '')),
    ('collation', CASE WHEN a.attcollation <> ty.typcollation THEN a.attcollation::regcollation::text END),
    ('storage', a.attstorage::text),
    ('compression', nullif(a.attcompression::text, '')),
    ('statistics target', nullif(coalesce(a.attstattarget, -1), -1)::text),
    ('options', a.attoptions::text),
    ('foreign options', (SELECT string_agg(o, ',' ORDER BY o) FROM unnest(a.attfdwoptions) o))
) AS parts (part, value)
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'c') AND {OWN_TABLE}
"""

CONSTRAINTS = f"""
SELECT format('%s.%I', {NAME}, k.conname), part, value FROM {FROM_TABLE}
JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype <> 't'
CROSS JOIN LATERAL (VALUES
    ('on', {NAME}),
    ('definition', pg_get_constraintdef(k.oid)),
    ('validated', k.convalidated::text),
    -- A foreign key is kept by triggers of both its tables; ALTER TABLE … DISABLE TRIGGER ALL switches them off.
    ('enforcement', (SELECT string_agg(DISTINCT t.tgenabled::text, ',') FROM pg_trigger t
                     WHERE t.tgconstraint = k.oid AND t.tgisinternal AND t.tgrelid = k.conrelid)),
    ('enforcement by its parent', (SELECT string_agg(DISTINCT t.tgenabled::text, ',') FROM pg_trigger t
                                   WHERE t.tgconstraint = k.oid AND t.tgisinternal AND t.tgrelid <> k.conrelid))
) AS parts (part, value)
WHERE {OWN_TABLE}
"""

INDEXES = f"""
SELECT format('%I.%I', n.nspname, x.relname), part, value FROM {FROM_TABLE}
JOIN pg_index i ON i.indrelid = c.oid JOIN pg_class x ON x.oid = i.indexrelid
CROSS JOIN LATERAL (
    SELECT 'on', {NAME}
    UNION ALL SELECT 'definition', pg_get_indexdef(i.indexrelid)
    UNION ALL SELECT 'valid', i.indisvalid::text
    UNION ALL SELECT 'ready', i.indisready::text
    UNION ALL SELECT 'clustered', i.indisclustered::text
    UNION ALL SELECT 'replica identity', i.indisreplident::text
    UNION ALL SELECT format('expression %s', k), pg_get_indexdef(i.indexrelid, k, false)
        FROM generate_series(1, i.indnkeyatts) k WHERE i.indkey[k - 1] = 0
) AS parts (part, value)
WHERE {OWN_TABLE}
"""

VIEWS = f"""
SELECT {NAME}, 'query', pg_get_viewdef(c.oid) FROM {FROM_TABLE} WHERE c.relkind = '{{relkind}}' AND {OWN_TABLE}
"""

TRIGGERS = f"""
SELECT format('%s.%I', {NAME}, t.tgname), part, value FROM {FROM_TABLE}
JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
CROSS JOIN LATERAL (VALUES
    ('on', {NAME}), ('definition', pg_get_triggerdef(t.oid)), ('enabled', t.tgenabled::text)
) AS parts (part, value)
WHERE {OWN_TABLE}
"""

RULES = f"""
SELECT format('%s.%I', {NAME}, r.rulename), part, value FROM {FROM_TABLE}
JOIN pg_rewrite r ON r.ev_class = c.oid AND r.rulename <> '_RETURN'
CROSS JOIN LATERAL (VALUES
    ('definition', pg_get_ruledef(r.oid)), ('enabled', r.ev_enabled::text)
) AS parts (part, value)
WHERE {OWN_TABLE}
"""

POLICIES = f"""
SELECT format('%s.%I', {NAME}, p.polname), part, value FROM {FROM_TABLE}
JOIN pg_policy p ON p.polrelid = c.oid
CROSS JOIN LATERAL (VALUES
    ('on', {NAME}),
    ('command', p.polcmd::text),
    ('permissive', p.polpermissive::text),
    ('roles', (SELECT string_agg(CASE WHEN r = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(r)::text END, ','
                                 ORDER BY pg_get_userbyid(r)) FROM unnest(p.polroles) r)),
    ('using', pg_get_expr(p.polqual, p.polrelid)),
    ('with check', pg_get_expr(p.polwithcheck, p.polrelid))
) AS parts (part, value)
WHERE {OWN_TABLE}
"""

SEQUENCES = f"""
SELECT {NAME}, part, value FROM {FROM_TABLE} JOIN pg_sequence s ON s.seqrelid = c.oid
CROSS JOIN LATERAL (VALUES
    ('parameters', concat_ws(' ', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache,
                             s.seqcycle)),
    ('owned by', (SELECT format('%s.%I', d.refobjid::regclass, a.attname) FROM pg_depend d
                  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i')
                    AND d.refclassid = 'pg_class'::regclass))
) AS parts (part, value)
WHERE {OWN_TABLE}
"""

STATISTICS = f"""
SELECT format('%I.%I', n.nspname, s.stxname), part, value
FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(s.stxowner)::text),
    ('definition', pg_get_statisticsobjdef(s.oid)),
    ('target', nullif(coalesce(s.stxstattarget, -1), -1)::text)
) AS parts (part, value)
WHERE {IS_USER_SCHEMA}
"""

QUESTIONS: Mapping[str, str] = {
    "relation": RELATIONS,
    "column": COLUMNS,
    "constraint": CONSTRAINTS,
    "index": INDEXES,
    "view": VIEWS.format(relkind="v"),
    "materialized view": VIEWS.format(relkind="m"),
    "trigger": TRIGGERS,
    "rule": RULES,
    "policy": POLICIES,
    "sequence": SEQUENCES,
    "statistics object": STATISTICS,
}
