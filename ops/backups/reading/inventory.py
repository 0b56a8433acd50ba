"""The tables of a database, as one snapshot shows them."""

from dataclasses import dataclass

from ops.backups.connecting.session import Session

OURS = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
"""A schema that users made. The alias of pg_namespace is `n`."""

TABLES = f"""
SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relkind::text, c.relfilenode = pg_relation_filenode(c.oid),
       pg_relation_size(c.oid) / current_setting('block_size')::int, pg_total_relation_size(c.oid),
       greatest(c.reltuples, 0)::bigint, am.amname = 'heap',
       coalesce((SELECT array_agg(quote_ident(a.attname) ORDER BY a.attname COLLATE "C") FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '{{}}'),
       coalesce((SELECT array_agg(quote_ident(a.attname) ORDER BY a.attname COLLATE "C") FROM pg_index i
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                 WHERE i.indrelid = c.oid AND i.indisprimary), '{{}}'),
       coalesce((SELECT bool_and(a.atttypid::regtype::text = ANY (ARRAY['smallint', 'integer', 'bigint', 'uuid', 'text',
                                                                      'character varying'])) FROM pg_index i
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                 WHERE i.indrelid = c.oid AND i.indisprimary), false),
       has_table_privilege(c.oid, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't' AND {OURS}
  AND (c.relkind = 'r' OR c.relispopulated)
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                  AND d.deptype = 'e'
                  AND NOT EXISTS (SELECT FROM pg_extension e
                                  WHERE e.oid = d.refobjid AND c.oid = ANY (e.extconfig)))
ORDER BY 6 DESC, 2
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table (or materialized view) and what is needed to sum it. Names are quoted SQL."""

    oid: int
    name: str
    is_materialized: bool
    in_place: bool
    """Whether its file is still the one this snapshot knows: no TRUNCATE and no rewrite since."""
    pages: int
    bytes: int
    rows_guessed: int
    is_heap: bool
    columns: tuple[str, ...]
    """Sorted by name: a restore may order them otherwise."""
    key: tuple[str, ...]
    key_hashes_alike: bool
    readable: bool


def tables(session: Session) -> list[Table]:
    """Every table with content of its own, the largest first."""
    return [
        Table(
            oid=row[0],
            name=row[1],
            is_materialized=row[2] == "m",
            in_place=bool(row[3]),
            pages=row[4],
            bytes=row[5],
            rows_guessed=row[6],
            is_heap=row[7],
            columns=tuple(row[8]),
            key=tuple(row[9]),
            key_hashes_alike=row[10],
            readable=row[11],
        )
        for row in session.execute(TABLES)
    ]
