"""Catalogue queries about rare kinds of objects: operators, casts, languages, text search, foreign data.

Rows of (name, part, text), without NULLs and without members of extensions, which CREATE EXTENSION makes.
"""

from collections.abc import Mapping

from ops.backups.reading.catalogue_tables import FROM_TABLE, NAME, OWN_TABLE, exclude_extension_members
from ops.backups.reading.inventory import IS_USER_SCHEMA


def _select_user_objects(catalogue: str, oid: str) -> str:
    """SQL condition: the object is neither built in nor a member of an extension."""
    return f"{oid} >= 16384 AND {exclude_extension_members(catalogue, oid)}"


def _sort_options(options: str) -> str:
    """SQL expression: a list of options as one sorted text."""
    return f"(SELECT string_agg(o, ',' ORDER BY o) FROM unnest({options}) o)"


OPERATORS = f"""
SELECT o.oid::regoperator::text, part, value FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(o.oprowner)::text),
    ('function', o.oprcode::regprocedure::text),
    ('result', o.oprresult::regtype::text),
    ('commutator', nullif(o.oprcom, 0)::regoperator::text),
    ('negator', nullif(o.oprnegate, 0)::regoperator::text),
    ('estimators', concat_ws(' ', o.oprrest::regproc, o.oprjoin::regproc)),
    ('use in joins', concat_ws(' ', o.oprcanmerge, o.oprcanhash))
) AS parts (part, value)
WHERE o.oprcode <> 0 AND {IS_USER_SCHEMA} AND {_select_user_objects("pg_operator", "o.oid")}
"""

OPERATOR_CLASSES = f"""
SELECT format('%I.%I using %I', n.nspname, c.opcname, am.amname), part, value
FROM pg_opclass c JOIN pg_namespace n ON n.oid = c.opcnamespace JOIN pg_am am ON am.oid = c.opcmethod
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(c.opcowner)::text),
    ('family', (SELECT format('%s.%I', f.opfnamespace::regnamespace, f.opfname) FROM pg_opfamily f
                WHERE f.oid = c.opcfamily)),
    ('type', c.opcintype::regtype::text),
    ('type of its key', nullif(c.opckeytype, 0)::regtype::text),
    ('default', c.opcdefault::text)
) AS parts (part, value)
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_opclass", "c.oid")}
"""

OPERATOR_FAMILIES = f"""
SELECT format('%I.%I using %I', n.nspname, f.opfname, am.amname), part, value
FROM pg_opfamily f JOIN pg_namespace n ON n.oid = f.opfnamespace JOIN pg_am am ON am.oid = f.opfmethod
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(f.opfowner)::text),
    ('list of operators', (SELECT string_agg(t, ',' ORDER BY t) FROM pg_amop o
        CROSS JOIN LATERAL concat_ws(' ', o.amopstrategy, o.amopopr::regoperator, o.amoppurpose) t
        WHERE o.amopfamily = f.oid)),
    ('list of functions', (SELECT string_agg(t, ',' ORDER BY t) FROM pg_amproc p
        CROSS JOIN LATERAL concat_ws(' ', p.amprocnum, p.amproclefttype::regtype, p.amprocrighttype::regtype,
                                     p.amproc::regproc) t
        WHERE p.amprocfamily = f.oid))
) AS parts (part, value)
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_opfamily", "f.oid")}
"""

CASTS = f"""
SELECT format('%s as %s', c.castsource::regtype, c.casttarget::regtype), part, value FROM pg_cast c
CROSS JOIN LATERAL (VALUES
    ('function', nullif(c.castfunc, 0)::regprocedure::text),
    ('use', concat_ws(' ', c.castcontext, c.castmethod))
) AS parts (part, value)
WHERE {_select_user_objects("pg_cast", "c.oid")}
"""

CONVERSIONS = f"""
SELECT format('%I.%I', n.nspname, c.conname), part, value
FROM pg_conversion c JOIN pg_namespace n ON n.oid = c.connamespace
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(c.conowner)::text),
    ('definition', concat_ws(' ', pg_encoding_to_char(c.conforencoding), pg_encoding_to_char(c.contoencoding),
                             c.conproc::regproc, c.condefault))
) AS parts (part, value)
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_conversion", "c.oid")}
"""

ACCESS_METHODS = f"""
SELECT quote_ident(a.amname), 'definition', concat_ws(' ', a.amtype, a.amhandler::regproc)
FROM pg_am a WHERE {_select_user_objects("pg_am", "a.oid")}
"""

LANGUAGES = f"""
SELECT quote_ident(l.lanname), part, value FROM pg_language l
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(l.lanowner)::text),
    ('trusted', l.lanpltrusted::text),
    ('functions', concat_ws(' ', l.lanplcallfoid::regproc, l.laninline::regproc, l.lanvalidator::regproc))
) AS parts (part, value)
WHERE {_select_user_objects("pg_language", "l.oid")}
"""

TRANSFORMS = f"""
SELECT format('for %s in %I', t.trftype::regtype, l.lanname), 'functions',
       concat_ws(' ', t.trffromsql::regproc, t.trftosql::regproc)
FROM pg_transform t JOIN pg_language l ON l.oid = t.trflang WHERE {_select_user_objects("pg_transform", "t.oid")}
"""

COLLATIONS = f"""
SELECT format('%I.%I', n.nspname, c.collname), part, value
FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace CROSS JOIN LATERAL to_jsonb(c) j
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(c.collowner)::text),
    ('provider', c.collprovider::text),
    ('deterministic', c.collisdeterministic::text),
    ('encoding', c.collencoding::text),
    ('locale', concat_ws(' ', c.collcollate, c.collctype, coalesce(j->>'colllocale', j->>'colliculocale'))),
    ('rules', j->>'collicurules'),
    ('version of its locale', c.collversion)
) AS parts (part, value)
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_collation", "c.oid")}
"""

TEXT_SEARCH_CONFIGURATIONS = f"""
SELECT format('%I.%I', n.nspname, c.cfgname), part, value
FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(c.cfgowner)::text),
    ('parser', (SELECT format('%s.%I', p.prsnamespace::regnamespace, p.prsname) FROM pg_ts_parser p
                WHERE p.oid = c.cfgparser)),
    ('mapping', (SELECT string_agg(concat_ws(' ', m.maptokentype, m.mapdict::regdictionary), ','
                                   ORDER BY m.maptokentype, m.mapseqno)
                 FROM pg_ts_config_map m WHERE m.mapcfg = c.oid))
) AS parts (part, value)
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_ts_config", "c.oid")}
"""

TEXT_SEARCH_DICTIONARIES = f"""
SELECT format('%I.%I', n.nspname, d.dictname), part, value
FROM pg_ts_dict d JOIN pg_namespace n ON n.oid = d.dictnamespace
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(d.dictowner)::text),
    ('template', (SELECT format('%s.%I', t.tmplnamespace::regnamespace, t.tmplname) FROM pg_ts_template t
                  WHERE t.oid = d.dicttemplate)),
    ('options', d.dictinitoption)
) AS parts (part, value)
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_ts_dict", "d.oid")}
"""

TEXT_SEARCH_PARSERS = f"""
SELECT format('%I.%I', n.nspname, p.prsname), 'functions',
       concat_ws(' ', p.prsstart::regproc, p.prstoken::regproc, p.prsend::regproc, p.prsheadline::regproc,
                 p.prslextype::regproc)
FROM pg_ts_parser p JOIN pg_namespace n ON n.oid = p.prsnamespace
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_ts_parser", "p.oid")}
"""

TEXT_SEARCH_TEMPLATES = f"""
SELECT format('%I.%I', n.nspname, t.tmplname), 'functions', concat_ws(' ', t.tmplinit::regproc, t.tmpllexize::regproc)
FROM pg_ts_template t JOIN pg_namespace n ON n.oid = t.tmplnamespace
WHERE {IS_USER_SCHEMA} AND {_select_user_objects("pg_ts_template", "t.oid")}
"""

FOREIGN_DATA_WRAPPERS = f"""
SELECT quote_ident(w.fdwname), part, value FROM pg_foreign_data_wrapper w
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(w.fdwowner)::text),
    ('functions', concat_ws(' ', w.fdwhandler::regproc, w.fdwvalidator::regproc)),
    ('options', {_sort_options("w.fdwoptions")})
) AS parts (part, value)
WHERE {_select_user_objects("pg_foreign_data_wrapper", "w.oid")}
"""

FOREIGN_SERVERS = f"""
SELECT quote_ident(s.srvname), part, value
FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
CROSS JOIN LATERAL (VALUES
    ('owner', pg_get_userbyid(s.srvowner)::text),
    ('wrapper', quote_ident(w.fdwname)),
    ('type', s.srvtype),
    ('version', s.srvversion),
    ('options', {_sort_options("s.srvoptions")})
) AS parts (part, value)
WHERE {_select_user_objects("pg_foreign_server", "s.oid")}
"""

# Only the existence of a mapping is compared: its options contain passwords and few roles may read them.
USER_MAPPINGS = """
SELECT format('for %s at %I', CASE WHEN u.umuser = 0 THEN 'PUBLIC' ELSE quote_ident(u.usename) END, u.srvname),
       'there', 'yes'
FROM pg_user_mappings u
"""

FOREIGN_TABLES = f"""
SELECT {NAME}, part, value FROM {FROM_TABLE} JOIN pg_foreign_table f ON f.ftrelid = c.oid
JOIN pg_foreign_server s ON s.oid = f.ftserver
CROSS JOIN LATERAL (VALUES
    ('server', quote_ident(s.srvname)), ('options', {_sort_options("f.ftoptions")})) AS parts (part, value)
WHERE {OWN_TABLE}
"""

QUESTIONS: Mapping[str, str] = {
    "operator": OPERATORS,
    "operator class": OPERATOR_CLASSES,
    "operator family": OPERATOR_FAMILIES,
    "cast": CASTS,
    "conversion": CONVERSIONS,
    "access method": ACCESS_METHODS,
    "language": LANGUAGES,
    "transform": TRANSFORMS,
    "collation": COLLATIONS,
    "text search configuration": TEXT_SEARCH_CONFIGURATIONS,
    "text search dictionary": TEXT_SEARCH_DICTIONARIES,
    "text search parser": TEXT_SEARCH_PARSERS,
    "text search template": TEXT_SEARCH_TEMPLATES,
    "foreign-data wrapper": FOREIGN_DATA_WRAPPERS,
    "foreign server": FOREIGN_SERVERS,
    "user mapping": USER_MAPPINGS,
    "foreign table": FOREIGN_TABLES,
}
