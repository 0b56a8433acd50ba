"""Catalogue queries about schemas, functions, types, extensions, event triggers and comments.

Rows of (name, part, text)."""

from collections.abc import Mapping

from ops.backups.reading.catalogue_tables import exclude_extension_members
from ops.backups.reading.inventory import IS_USER_SCHEMA

SCHEMAS = f"""
SELECT quote_ident(n.nspname), 'owner', pg_get_userbyid(n.nspowner)::text FROM pg_namespace n
WHERE {IS_USER_SCHEMA} AND {exclude_extension_members("pg_namespace", "n.oid")}
"""

# CREATE TYPE … AS RANGE also creates functions. They keep their owner when the type gets another one.
NOT_OF_A_TYPE = """NOT EXISTS (
    SELECT FROM pg_depend dt WHERE dt.classid = 'pg_proc'::regclass AND dt.objid = p.oid AND dt.deptype = 'i'
      AND dt.refclassid = 'pg_type'::regclass)"""

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
WHERE {IS_USER_SCHEMA} AND {exclude_extension_members("pg_proc", "p.oid")} AND {NOT_OF_A_TYPE}
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
                           nullif(r.rngsubdiff, 0)::regproc, nullif(r.rngcanonical, 0)::regproc,
                           r.rngmultitypid::regtype)),
    ('class of operators', (SELECT format('%s.%I', oc.opcnamespace::regnamespace, oc.opcname) FROM pg_opclass oc
                            WHERE oc.oid = r.rngsubopc)),
    ('functions', CASE WHEN t.typtype = 'b' THEN concat_ws(' ',
        t.typinput::regproc, t.typoutput::regproc, t.typreceive::regproc, t.typsend::regproc, t.typmodin::regproc,
        t.typmodout::regproc, t.typanalyze::regproc) END),
    ('storage', CASE WHEN t.typtype = 'b' THEN concat_ws(' ',
        t.typlen, t.typbyval, t.typalign, t.typstorage, t.typcategory, t.typispreferred, t.typdelim) END)
) AS parts (part, value)
WHERE t.typtype IN ('e', 'd', 'r', 'b') AND {IS_USER_SCHEMA} AND {exclude_extension_members("pg_type", "t.oid")}
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
WHERE {IS_USER_SCHEMA} AND {exclude_extension_members("pg_type", "t.oid")}
"""

EXTENSIONS = """
SELECT quote_ident(e.extname), part, value FROM pg_extension e
CROSS JOIN LATERAL (VALUES
    ('version', e.extversion), ('schema', e.extnamespace::regnamespace::text)) AS parts (part, value)
"""

EVENT_TRIGGERS = f"""
SELECT quote_ident(evtname), part, value FROM pg_event_trigger v
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(evtowner)::text),
    ('definition', concat_ws(' ', evtevent, evtfoid::regprocedure, evttags::text)),
    ('enabled', evtenabled::text)
) AS parts (part, value)
WHERE {exclude_extension_members("pg_event_trigger", "v.oid")}
"""

COMMENTS = """
SELECT concat_ws(' ', o.type, o.identity), 'text', d.description
FROM pg_description d CROSS JOIN LATERAL pg_identify_object(d.classoid, d.objoid, d.objsubid) o
WHERE (d.objoid >= 16384 OR d.classoid = 'pg_namespace'::regclass)
  AND coalesce(o.schema, '') !~ '^pg_' AND o.identity !~ '^pg_' AND NOT EXISTS (
      SELECT FROM pg_depend e WHERE e.classid = d.classoid AND e.objid = d.objoid AND e.deptype = 'e')
"""

QUESTIONS: Mapping[str, str] = {
    "schema": SCHEMAS,
    "function": FUNCTIONS,
    "type": TYPES,
    "domain constraint": DOMAIN_CONSTRAINTS,
    "extension": EXTENSIONS,
    "event trigger": EVENT_TRIGGERS,
    "comment": COMMENTS,
}
