"""A database's encoding, locale and provider: read from one database, written into CREATE DATABASE for another."""

from psycopg import sql

from ops.backups.connecting.session import Session
from ops.backups.run.facts import Entry

PROVIDERS = {"c": "libc", "i": "icu", "b": "builtin"}
"""Locale providers by their letter in pg_database."""
LIKE = """
SELECT part, value FROM pg_database d CROSS JOIN to_jsonb(d) j CROSS JOIN LATERAL (VALUES
    ('encoding', pg_encoding_to_char(d.encoding)::text),
    ('provider', d.datlocprovider::text),
    ('collate', d.datcollate::text),
    ('ctype', d.datctype::text),
    ('locale', coalesce(j->>'datlocale', j->>'daticulocale')),
    ('ICU rules', j->>'daticurules'),
    ('version of its locale', d.datcollversion)
) AS parts (part, value) WHERE d.datname = current_database() AND value IS NOT NULL
"""


def read_locale(session: Session) -> Entry:
    """Read encoding, locale and provider of the session's database."""
    return {row[0]: row[1] for row in session.execute(LIKE)}


def format_options(like: Entry) -> sql.Composable:
    """PURE: format the options of CREATE DATABASE for this encoding, locale and provider."""
    provider = PROVIDERS[like["provider"]]
    options = {
        "ENCODING": like["encoding"],
        "LOCALE_PROVIDER": provider,
        "LC_COLLATE": like["collate"],
        "LC_CTYPE": like["ctype"],
    }
    if provider != "libc":
        options["ICU_LOCALE" if provider == "icu" else "BUILTIN_LOCALE"] = like["locale"]
    if "ICU rules" in like:
        options["ICU_RULES"] = like["ICU rules"]
    return sql.SQL(" ").join(
        sql.SQL("{} {}").format(sql.SQL(name), sql.Literal(value)) for name, value in options.items()
    )
