"""One side as a picture: what is read beside the row sums, and the sums themselves by several sessions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ops.backups.connecting.session import Session
from ops.backups.connecting.worker_pool import Crew
from ops.backups.reading import catalogue, migration_ledger, sequences, uncompared
from ops.backups.reading.database_locale import kind_of_database
from ops.backups.reading.inventory import Table
from ops.backups.reading.row_sums import Piece, PieceSum, add_up, pieces, sum_piece
from ops.backups.run.facts import Picture, TableSum
from ops.backups.run.facts import Sequence as Standing
from ops.backups.run.watch import Watch


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Everything but the rows."""

    catalogue: dict[str, dict[str, dict[str, str]]]
    ledger: tuple[str, ...]
    roles: tuple[str, ...]
    asides: dict[str, int]


def look(session: Session) -> Look:
    """Read the catalogue, the migration ledger and what leans on them."""
    found = {**catalogue.read(session), **catalogue.large_objects(session)}
    read = {kind: {name: dict(e) for name, e in of.items()} for kind, of in found.items()}
    return Look(
        catalogue={**read, "database": {"itself": dict(kind_of_database(session))}},
        ledger=migration_ledger.read(session),
        roles=uncompared.roles(session),
        asides=uncompared.counts(session),
    )


def row_sums(
    sessions: Sequence[Session],
    tables: Sequence[Table],
    watch: Watch,
    *,
    tick: Callable[[], None] | None = None,
) -> dict[str, TableSum]:
    """The content of every table, by these sessions together. Closes them. `tick` may raise to end it."""
    work = pieces(tables)
    found: list[PieceSum] = []
    with Crew[Piece, PieceSum](sessions, sum_piece) as crew:
        for result in crew.work(work, tick=tick or watch.tick):
            found.append(result)
            watch.summed(pages=result.piece.pages, rows=result.rows)
    return add_up(tables, found)


def assemble(
    seen: Look, tables: Sequence[Table], sums: dict[str, TableSum], standing: dict[str, Standing]
) -> Picture:
    """PURE: one picture from its parts; materialized views are kept apart."""
    materialized = {table.name for table in tables if table.is_materialized}
    return Picture(
        tables={name: found for name, found in sums.items() if name not in materialized},
        materialized={name: found for name, found in sums.items() if name in materialized},
        catalogue=seen.catalogue,
        ledger=seen.ledger,
        sequences=standing,
        roles=seen.roles,
        asides=seen.asides,
    )


def of_copy(session: Session, sessions: Sequence[Session], tables: Sequence[Table], watch: Watch) -> Picture:
    """The picture of a scratch copy, which nobody else writes to."""
    sums = row_sums(sessions, tables, watch)
    return assemble(look(session), tables, sums, sequences.with_reach(session, sequences.read(session)))
