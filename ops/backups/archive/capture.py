"""Takes a dump and a fingerprint of the source at the same snapshot, for drills and backups."""

from dataclasses import dataclass
from pathlib import Path

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_source
from ops.backups.programs import dump
from ops.backups.programs.child import ChildProgram
from ops.backups.programs.dump import Archive
from ops.backups.programs.tools import Tools
from ops.backups.reading import catalogue, sequences
from ops.backups.reading.fingerprint import assemble_fingerprint, read_definitions, sum_rows
from ops.backups.reading.snapshot import Snapshot, open_sharing_sessions, take_snapshot
from ops.backups.run.facts import Catalogue, Fingerprint, SequencePosition, TableSum
from ops.backups.run.monitor import PAGE_BYTES, RunMonitor
from ops.backups.run.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A checked source: its address, the setting that names it, and the session that will hold the snapshot."""

    address: Address
    setting: str
    session: Session


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """A dump and its fingerprint. `changed_meanwhile`: the catalogue differs from that of the snapshot."""

    fingerprint: Fingerprint
    archive: Archive
    changed_meanwhile: bool


def capture(
    source: Source, into: Path, *, tools: Tools, jobs: int, folder: RunFolder, monitor: RunMonitor
) -> Capture:
    """Dump into `into`, created when the dump is complete, and take the fingerprint meanwhile."""
    with monitor.time_phase("snapshot"):
        snapshot = take_snapshot(source.session)
        before = sequences.add_reach(source.session, sequences.read(source.session))
        seen = read_definitions(source.session)
    partial = into.with_name(f"{into.name}.partial")
    pages = sum(table.pages for table in snapshot.tables)
    with monitor.time_phase("dump and row sums", of_bytes=pages * PAGE_BYTES):
        dumping = dump.start_dump(
            tools, source.address, partial, snapshot=snapshot.name, jobs=jobs, folder=folder
        )
        with dumping:
            sums = _sum_rows(source, snapshot, dumping, jobs=jobs, monitor=monitor)
            if dumping.wait(monitor.tick) != 0:
                raise dump.make_error(dumping, "pg_dump", damaged="The dump could not be made")
        # End the snapshot at once: it keeps VACUUM from removing dead rows on the source.
        source.session.execute("ROLLBACK")
    dump.refuse_empty_files(dump.recognise_archive(partial))
    partial.rename(into)
    after, catalogue_now = _read_present_state(source)
    return Capture(
        fingerprint=assemble_fingerprint(seen, snapshot.tables, sums, sequences.join_readings(before, after)),
        archive=Archive(path=into, is_folder=True),
        changed_meanwhile=any(of != seen.catalogue[kind] for kind, of in catalogue_now.items()),
    )


def _sum_rows(
    source: Source, snapshot: Snapshot, dumping: ChildProgram, *, jobs: int, monitor: RunMonitor
) -> dict[str, TableSum]:
    def tick() -> None:
        if dumping.exit_code:
            raise dump.make_error(dumping, "pg_dump", damaged="The dump could not be made")
        monitor.tick()

    with open_sharing_sessions(source.address, snapshot, size=jobs, setting=source.setting) as sessions:
        return sum_rows(sessions, snapshot.tables, monitor, tick=tick)


def _read_present_state(source: Source) -> tuple[dict[str, SequencePosition], Catalogue]:
    # In a new session: the holder may still have caches from its snapshot.
    with open_source(source.address, setting=source.setting) as session:
        return sequences.read(session), catalogue.read(session)
