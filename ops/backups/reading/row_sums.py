"""Sums of row hashes: independent of row order, without sort or key, sensitive to duplicates (D1).

A row's text is `ROW(columns sorted by name)::text`, hashed with two seeds. Sums of parts can be added, so a large
table is cut into ranges of pages for several connections, which also gives real progress.
"""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import psycopg

from ops.backups.connecting.session import Session
from ops.backups.reading.inventory import Table
from ops.backups.run.error_mapping import map_database_error
from ops.backups.run.facts import Bucket, TableSum

BUCKETS = 256
MAX_PIECE_PAGES = 4096
LARGE_OBJECTS = "large objects"

SUM = """
SELECT k, count(*), sum(h0), sum(h1) FROM (
    SELECT {bucket} & 255 AS k, hashtextextended(r, 0) AS h0, hashtextextended(r, 1) AS h1
    FROM (SELECT ROW({columns})::text AS r{key} FROM ONLY {table}{where} OFFSET 0) texts
) hashes GROUP BY k
"""
SUM_LARGE_OBJECTS = """
SELECT k, count(*), sum(h0), sum(h1) FROM (
    SELECT hashint8extended(oid::bigint, 0) & 255 AS k, hashtextextended(r, 0) AS h0, hashtextextended(r, 1) AS h1
    FROM (SELECT oid, oid::text || ' ' || lo_get(oid)::text AS r FROM pg_largeobject_metadata OFFSET 0) texts
) hashes GROUP BY k
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A range of pages of one table, with the statement that sums it."""

    table: str
    sql: str
    pages: int
    is_information: bool = False
    """Part of a materialized view: reported and not compared, so a lock on it is skipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PieceSum:
    """The sums of one piece."""

    piece: Piece
    buckets: dict[int, Bucket]
    was_left_out: bool = False

    @property
    def rows(self) -> int:
        """Rows of all buckets."""
        return sum(rows for rows, _first, _second in self.buckets.values())


def cut_into_pieces(tables: Iterable[Table]) -> list[Piece]:
    """PURE: cut all tables and the large objects into pieces, the largest tables first."""
    cut = [piece for table in tables for piece in _cut_table(table)]
    return [*cut, Piece(table=LARGE_OBJECTS, sql=SUM_LARGE_OBJECTS, pages=0)]


def add_up(tables: Iterable[Table], found: Iterable[PieceSum]) -> dict[str, TableSum]:
    """PURE: add the pieces of each table; a table without rows gets an empty sum."""
    found = list(found)
    left_out = {part.piece.table for part in found if part.was_left_out}
    sizes = {table.name: table.bytes for table in tables if table.name not in left_out} | {LARGE_OBJECTS: 0}
    totals: dict[str, dict[int, Bucket]] = {name: {} for name in sizes}
    for part in found:
        total = totals.get(part.piece.table, {})
        for key, (rows, first, second) in part.buckets.items():
            old = total.get(key, (0, 0, 0))
            total[key] = (old[0] + rows, old[1] + first, old[2] + second)
    return {
        name: TableSum(rows=sum(b[0] for b in buckets.values()), buckets=buckets, bytes=sizes[name])
        for name, buckets in totals.items()
    }


def sum_piece(session: Session, piece: Piece) -> PieceSum:
    """Sum one piece. Raises DrillStopped."""
    try:
        # A savepoint: a refresh that locks a materialized view must not end the snapshot's transaction.
        with session.transaction() if piece.is_information else nullcontext():
            rows = session.execute(piece.sql.encode()).fetchall()
    except psycopg.errors.LockNotAvailable as error:
        if not piece.is_information:
            raise map_database_error(error, table=piece.table) from None
        return PieceSum(piece=piece, buckets={}, was_left_out=True)
    except psycopg.Error as error:
        raise map_database_error(error, table=piece.table) from None
    return PieceSum(piece=piece, buckets={row[0]: (row[1], int(row[2]), int(row[3])) for row in rows})


def _cut_table(table: Table) -> Iterator[Piece]:
    if not table.is_heap or table.pages <= MAX_PIECE_PAGES:
        yield _make_piece(table, "", table.pages)
        return
    for start in range(0, table.pages, MAX_PIECE_PAGES):
        end = start + MAX_PIECE_PAGES
        where = f" WHERE ctid >= '({start},0)'"
        # The last range has no end: pages added later contain nothing that this snapshot sees.
        if end < table.pages:
            where += f" AND ctid < '({end},0)'"
        yield _make_piece(table, where, min(end, table.pages) - start)


def _make_piece(table: Table, where: str, pages: int) -> Piece:
    return Piece(
        table=table.name, sql=_format_sql(table, where), pages=pages, is_information=table.is_materialized
    )


def _format_sql(table: Table, where: str) -> str:
    if not table.key:
        key, bucket = "", "hashtextextended(r, 0)"
    elif table.key_hashes_alike:
        key, bucket = f", hash_record_extended(ROW({', '.join(table.key)}), 0) AS kh", "kh"
    else:
        key, bucket = f", hashtextextended(ROW({', '.join(table.key)})::text, 0) AS kh", "kh"
    return SUM.format(bucket=bucket, columns=", ".join(table.columns), key=key, table=table.name, where=where)
