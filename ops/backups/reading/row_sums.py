"""The content of a table as sums of row hashes: no order, no sort, no key needed; duplicates count (D1).

A row's text is `ROW(columns sorted by name)::text`, hashed with two seeds. The sums add up, so a big table is
cut into ranges of pages that several connections share, and progress is real.
"""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import psycopg

from ops.backups.connecting.session import Session
from ops.backups.reading.inventory import Table
from ops.backups.run.error_mapping import told
from ops.backups.run.facts import Bucket, TableSum

BUCKETS = 256
PAGES_AT_ONCE = 4096
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
    """One statement's worth of a table."""

    table: str
    sql: str
    pages: int
    is_information: bool = False
    """Of a materialized view: worth having, and not worth waiting for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PieceSum:
    """What one statement found."""

    piece: Piece
    buckets: dict[int, Bucket]
    was_left_out: bool = False

    @property
    def rows(self) -> int:
        """Over all buckets."""
        return sum(rows for rows, _first, _second in self.buckets.values())


def pieces(tables: Iterable[Table]) -> list[Piece]:
    """PURE: the whole work, the largest tables first."""
    cut = [piece for table in tables for piece in _cut(table)]
    return [*cut, Piece(table=LARGE_OBJECTS, sql=SUM_LARGE_OBJECTS, pages=0)]


def add_up(tables: Iterable[Table], found: Iterable[PieceSum]) -> dict[str, TableSum]:
    """PURE: one sum for each table, also for those without a row."""
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
    """Run one statement."""
    try:
        # As information it must not end the snapshot's transaction when a refresh holds the view.
        with session.transaction() if piece.is_information else nullcontext():
            rows = session.execute(piece.sql.encode()).fetchall()
    except psycopg.errors.LockNotAvailable as error:
        if not piece.is_information:
            raise told(error, table=piece.table) from None
        return PieceSum(piece=piece, buckets={}, was_left_out=True)
    except psycopg.Error as error:
        raise told(error, table=piece.table) from None
    return PieceSum(piece=piece, buckets={row[0]: (row[1], int(row[2]), int(row[3])) for row in rows})


def _cut(table: Table) -> Iterator[Piece]:
    if not table.is_heap or table.pages <= PAGES_AT_ONCE:
        yield _piece(table, "", table.pages)
        return
    for start in range(0, table.pages, PAGES_AT_ONCE):
        end = start + PAGES_AT_ONCE
        where = f" WHERE ctid >= '({start},0)'"
        # The last range has no end: pages added since the size was read hold nothing this snapshot sees.
        if end < table.pages:
            where += f" AND ctid < '({end},0)'"
        yield _piece(table, where, min(end, table.pages) - start)


def _piece(table: Table, where: str, pages: int) -> Piece:
    return Piece(table=table.name, sql=_sql(table, where), pages=pages, is_information=table.is_materialized)


def _sql(table: Table, where: str) -> str:
    if not table.key:
        key, bucket = "", "hashtextextended(r, 0)"
    elif table.key_hashes_alike:
        key, bucket = f", hash_record_extended(ROW({', '.join(table.key)}), 0) AS kh", "kh"
    else:
        key, bucket = f", hashtextextended(ROW({', '.join(table.key)})::text, 0) AS kh", "kh"
    return SUM.format(bucket=bucket, columns=", ".join(table.columns), key=key, table=table.name, where=where)
