"""The catalogue's questions about everything that does not hang on a table. Rows of (name, part, text)."""

from collections.abc import Mapping

from ops.drill.catalogue_tables import NAME, OWN_TABLE, not_of_an_extension
from ops.drill.inventory import OURS

SCHEMAS = f"""
SELECT quote_ident(n.nspname), 'owner', pg_get_userbyid(n.nspowner)::text FROM pg_namespace n
WHERE {OURS} AND {not_of_an_extension("pg_namespace", "n.oid")}
"""

FUNCTIONS = f"""
SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)), part, value
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_aggregate g ON g.aggfnoid = p.oid
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(p.proowner)::text),
    ('definition', CASE WHEN p.prokind = 'a' THEN concat_ws(' ',
        g.aggkind, g.aggnumdirectargs, g.aggtransfn, g.aggfinalfn, g.aggcombinefn, g.aggserialfn, g.aggdeserialfn,
        g.aggmtransfn, g.aggminvtransfn, g.aggmfinalfn, g.aggfinalextra, g.aggfinalmodify, g.aggsortop::regoper,
        g.aggtranstype::regtype, g.agginitval, p.proparallel)
     ELSE pg_get_functiondef(p.oid) END)
) AS parts (part, value)
WHERE {OURS} AND {not_of_an_extension("pg_proc", "p.oid")}
"""

TYPES = f"""
SELECT format('%I.%I', n.nspname, t.typname), part, value
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_range r ON r.rngtypid = t.oid
CROSS JOIN LATERAL (VALUES
    ('kind', t.typtype::text),
    ('owner', pg_get_userbyid(t.typowner)::text),
    ('labels in order', (SELECT string_agg(quote_literal(e.enumlabel), ',' ORDER BY e.enumsortorder)
                         FROM pg_enum e WHERE e.enumtypid = t.oid)),
    ('base type', CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) END),
    ('NOT NULL', CASE WHEN t.typtype = 'd' THEN t.typnotnull::text END),
    ('default', CASE WHEN t.typtype = 'd' THEN t.typdefault END),
    ('collation', CASE WHEN t.typtype = 'd' AND t.typcollation <> 0 THEN t.typcollation::regcollation::text END),
    ('range of', concat_ws(' ', r.rngsubtype::regtype, nullif(r.rngcollation, 0)::regcollation,
                           nullif(r.rngsubdiff, 0)::regproc))
) AS parts (part, value)
WHERE t.typtype IN ('e', 'd', 'r', 'b') AND {OURS} AND {not_of_an_extension("pg_type", "t.oid")}
  AND NOT EXISTS (SELECT FROM pg_type el WHERE el.typarray = t.oid)
"""

DOMAIN_CONSTRAINTS = f"""
SELECT format('%I.%I.%I', n.nspname, t.typname, k.conname), part, value
FROM pg_constraint k JOIN pg_type t ON t.oid = k.contypid JOIN pg_namespace n ON n.oid = t.typnamespace
CROSS JOIN LATERAL (VALUES
    ('base type', format_type(t.typbasetype, t.typtypmod)),
    ('definition', pg_get_constraintdef(k.oid)),
    ('validated', k.convalidated::text)
) AS parts (part, value)
WHERE {OURS} AND {not_of_an_extension("pg_type", "t.oid")}
"""

EXTENSIONS = """
SELECT quote_ident(e.extname), part, value FROM pg_extension e
CROSS JOIN LATERAL (VALUES
    ('version', e.extversion), ('schema', e.extnamespace::regnamespace::text)) AS parts (part, value)
"""

EVENT_TRIGGERS = f"""
SELECT quote_ident(evtname), 'definition',
       concat_ws(' ', evtevent, evtfoid::regprocedure, evtenabled, evttags::text, pg_get_userbyid(evtowner))
FROM pg_event_trigger v WHERE {not_of_an_extension("pg_event_trigger", "v.oid")}
"""

PUBLICATIONS = """
SELECT quote_ident(p.pubname), part, value FROM pg_publication p
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(p.pubowner)::text),
    ('what', concat_ws(' ', p.puballtables, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, p.pubviaroot)),
    ('tables', (SELECT string_agg(r.prrelid::regclass::text, ',' ORDER BY r.prrelid::regclass::text)
                FROM pg_publication_rel r WHERE r.prpubid = p.oid)),
    ('schemas', (SELECT string_agg(s.pnnspid::regnamespace::text, ',' ORDER BY s.pnnspid::regnamespace::text)
                 FROM pg_publication_namespace s WHERE s.pnpubid = p.oid))
) AS parts (part, value)
"""

# Kinds that are rare here: that they are there, under their full identity, is what is compared.
OTHERS = """
SELECT concat_ws(' ', o.type, o.identity), 'there', 'yes' FROM (
    SELECT 'pg_collation'::regclass AS classid, oid FROM pg_collation
    UNION ALL SELECT 'pg_operator'::regclass, oid FROM pg_operator
    UNION ALL SELECT 'pg_opclass'::regclass, oid FROM pg_opclass
    UNION ALL SELECT 'pg_opfamily'::regclass, oid FROM pg_opfamily
    UNION ALL SELECT 'pg_cast'::regclass, oid FROM pg_cast
    UNION ALL SELECT 'pg_conversion'::regclass, oid FROM pg_conversion
    UNION ALL SELECT 'pg_am'::regclass, oid FROM pg_am
    UNION ALL SELECT 'pg_language'::regclass, oid FROM pg_language
    UNION ALL SELECT 'pg_transform'::regclass, oid FROM pg_transform
    UNION ALL SELECT 'pg_ts_config'::regclass, oid FROM pg_ts_config
    UNION ALL SELECT 'pg_ts_dict'::regclass, oid FROM pg_ts_dict
    UNION ALL SELECT 'pg_ts_parser'::regclass, oid FROM pg_ts_parser
    UNION ALL SELECT 'pg_ts_template'::regclass, oid FROM pg_ts_template
    UNION ALL SELECT 'pg_foreign_data_wrapper'::regclass, oid FROM pg_foreign_data_wrapper
    UNION ALL SELECT 'pg_foreign_server'::regclass, oid FROM pg_foreign_server
) every CROSS JOIN LATERAL pg_identify_object(every.classid, every.oid, 0) o
WHERE every.oid >= 16384 AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = every.classid AND d.objid = every.oid AND d.deptype = 'e')
"""

COMMENTS = """
SELECT concat_ws(' ', o.type, o.identity), 'text', d.description
FROM pg_description d CROSS JOIN LATERAL pg_identify_object(d.classoid, d.objoid, d.objsubid) o
WHERE (d.objoid >= 16384 OR d.classoid = 'pg_namespace'::regclass)
  AND coalesce(o.schema, '') !~ '^pg_' AND o.identity !~ '^pg_' AND NOT EXISTS (
      SELECT FROM pg_depend e WHERE e.classid = d.classoid AND e.objid = d.objoid AND e.deptype = 'e')
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
    FROM pg_namespace n WHERE {OURS} AND {not_of_an_extension("pg_namespace", "n.oid")}
    UNION ALL
    SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
           coalesce(p.proacl, acldefault('f', p.proowner))
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE {OURS} AND {not_of_an_extension("pg_proc", "p.oid")}
    UNION ALL
    SELECT format('type %I.%I', n.nspname, t.typname), coalesce(t.typacl, acldefault('T', t.typowner))
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype IN ('e', 'd', 'r') AND {OURS} AND {not_of_an_extension("pg_type", "t.oid")}
    UNION ALL
    SELECT format('defaults of %s in %s for %s', pg_get_userbyid(f.defaclrole),
                  coalesce(f.defaclnamespace::regnamespace::text, 'every schema'), f.defaclobjtype), f.defaclacl
    FROM pg_default_acl f
) held CROSS JOIN LATERAL aclexplode(held.acl) a
GROUP BY holder, a.grantee
"""

QUESTIONS: Mapping[str, str] = {
    "schema": SCHEMAS,
    "function": FUNCTIONS,
    "type": TYPES,
    "domain constraint": DOMAIN_CONSTRAINTS,
    "extension": EXTENSIONS,
    "event trigger": EVENT_TRIGGERS,
    "publication": PUBLICATIONS,
    "other object": OTHERS,
    "comment": COMMENTS,
    "grant": GRANTS,
}
