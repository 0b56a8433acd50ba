"""Lists the tables of a database as a snapshot shows them."""

from dataclasses import dataclass

from ops.backups.connecting.session import Session

IS_USER_SCHEMA = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
"""SQL condition: a schema made by users. `n` is the alias of pg_namespace."""

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
WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't' AND {IS_USER_SCHEMA}
  AND (c.relkind = 'r' OR c.relispopulated)
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                  AND d.deptype = 'e'
                  AND NOT EXISTS (SELECT FROM pg_extension e
                                  WHERE e.oid = d.refobjid AND c.oid = ANY (e.extconfig)))
ORDER BY 6 DESC, 2
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table or materialized view, with what is needed to sum it. Names are quoted SQL."""

    oid: int
    name: str
    is_materialized: bool
    in_place: bool
    """Whether its file is the one the snapshot knows: no TRUNCATE and no rewrite since."""
    pages: int
    bytes: int
    estimated_rows: int
    is_heap: bool
    columns: tuple[str, ...]
    """Sorted by name, because a restore may order columns differently."""
    key: tuple[str, ...]
    key_hashes_alike: bool
    readable: bool


def list_tables(session: Session) -> list[Table]:
    """List every table that stores rows, the largest first."""
    return [
        Table(
            oid=row[0],
            name=row[1],
            is_materialized=row[2] == "m",
            in_place=bool(row[3]),
            pages=row[4],
            bytes=row[5],
            estimated_rows=row[6],
            is_heap=row[7],
            columns=tuple(row[8]),
            key=tuple(row[9]),
            key_hashes_alike=row[10],
            readable=row[11],
        )
        for row in session.execute(TABLES)
    ]
