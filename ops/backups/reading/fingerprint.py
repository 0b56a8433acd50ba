"""Takes the fingerprint of a database: definitions by one session, row sums by several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ops.backups.connecting.session import Session
from ops.backups.connecting.worker_pool import WorkerPool
from ops.backups.reading import catalogue, migration_ledger, sequences, uncompared
from ops.backups.reading.database_locale import read_locale
from ops.backups.reading.inventory import Table
from ops.backups.reading.row_sums import Piece, PieceSum, add_up, cut_into_pieces, sum_piece
from ops.backups.run.facts import Fingerprint, TableSum
from ops.backups.run.facts import SequencePosition as Standing
from ops.backups.run.monitor import RunMonitor


@dataclass(frozen=True, kw_only=True, slots=True)
class Definitions:
    """Everything of a fingerprint except row sums and sequences."""

    catalogue: dict[str, dict[str, dict[str, str]]]
    ledger: tuple[str, ...]
    roles: tuple[str, ...]
    uncompared: dict[str, int]


def read_definitions(session: Session) -> Definitions:
    """Read the catalogue, the migration ledger, roles and counts of what is not compared."""
    found = {**catalogue.read(session), **catalogue.read_large_objects(session)}
    read = {kind: {name: dict(e) for name, e in of.items()} for kind, of in found.items()}
    return Definitions(
        catalogue={**read, "database": {"itself": dict(read_locale(session))}},
        ledger=migration_ledger.read(session),
        roles=uncompared.read_roles(session),
        uncompared=uncompared.count_uncompared(session),
    )


def sum_rows(
    sessions: Sequence[Session],
    tables: Sequence[Table],
    monitor: RunMonitor,
    *,
    tick: Callable[[], None] | None = None,
) -> dict[str, TableSum]:
    """Sum every table with these sessions, then close them. `tick` may raise."""
    work = cut_into_pieces(tables)
    found: list[PieceSum] = []
    with WorkerPool[Piece, PieceSum](sessions, sum_piece) as pool:
        for result in pool.run_jobs(work, tick=tick or monitor.tick):
            found.append(result)
            monitor.add_progress(pages=result.piece.pages, rows=result.rows)
    return add_up(tables, found)


def assemble_fingerprint(
    seen: Definitions, tables: Sequence[Table], sums: dict[str, TableSum], standing: dict[str, Standing]
) -> Fingerprint:
    """PURE: assemble a fingerprint; materialized views are kept apart from tables."""
    materialized = {table.name for table in tables if table.is_materialized}
    return Fingerprint(
        tables={name: found for name, found in sums.items() if name not in materialized},
        materialized={name: found for name, found in sums.items() if name in materialized},
        catalogue=seen.catalogue,
        ledger=seen.ledger,
        sequences=standing,
        roles=seen.roles,
        uncompared=seen.uncompared,
    )


def take_fingerprint(
    session: Session, sessions: Sequence[Session], tables: Sequence[Table], monitor: RunMonitor
) -> Fingerprint:
    """Take the fingerprint of a database that is not written to meanwhile. Closes `sessions`."""
    sums = sum_rows(sessions, tables, monitor)
    return assemble_fingerprint(
        read_definitions(session), tables, sums, sequences.add_reach(session, sequences.read(session))
    )
