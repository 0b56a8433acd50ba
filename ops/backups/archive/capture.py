"""A dump and a picture of the source at one and the same snapshot: what a drill and a backup both begin with."""

from dataclasses import dataclass
from pathlib import Path

from ops.backups.connecting.address import Address
from ops.backups.connecting.session import Session, open_source
from ops.backups.programs import dump
from ops.backups.programs.child import Child
from ops.backups.programs.dump import Archive
from ops.backups.programs.tools import Tools
from ops.backups.reading import catalogue, sequences
from ops.backups.reading.fingerprint import assemble, look, row_sums
from ops.backups.reading.snapshot import Snapshot, hold, sharers
from ops.backups.run.facts import Catalogue, Picture, Sequence, TableSum
from ops.backups.run.run_folder import RunFolder
from ops.backups.run.watch import PAGE_BYTES, Watch


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A source that was found right: where it is, which setting says so, and the session that will hold it."""

    address: Address
    setting: str
    session: Session


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """What was taken. `changed_meanwhile`: the catalogue is no longer what the snapshot showed."""

    picture: Picture
    archive: Archive
    changed_meanwhile: bool


def capture(
    source: Source, into: Path, *, tools: Tools, jobs: int, folder: RunFolder, watch: Watch
) -> Capture:
    """Dump into the folder `into`, which appears when it is whole, and take the picture meanwhile."""
    with watch.phase("snapshot"):
        snapshot = hold(source.session)
        before = sequences.with_reach(source.session, sequences.read(source.session))
        seen = look(source.session)
    partial = into.with_name(f"{into.name}.partial")
    pages = sum(table.pages for table in snapshot.tables)
    with watch.phase("dump and row sums", of_bytes=pages * PAGE_BYTES):
        dumping = dump.start_dump(
            tools, source.address, partial, snapshot=snapshot.name, jobs=jobs, folder=folder
        )
        with dumping:
            sums = _sums(source, snapshot, dumping, jobs=jobs, watch=watch)
            if dumping.wait(watch.tick) != 0:
                raise dump.failed(dumping, "pg_dump", damaged="The dump could not be made")
        # Holding it a moment longer than needed keeps the source from tidying up behind its writers.
        source.session.execute("ROLLBACK")
    dump.refuse_emptied_files(dump.recognise(partial))
    partial.rename(into)
    after, catalogue_now = _now(source)
    return Capture(
        picture=assemble(seen, snapshot.tables, sums, sequences.span(before, after)),
        archive=Archive(path=into, is_folder=True),
        changed_meanwhile=any(of != seen.catalogue[kind] for kind, of in catalogue_now.items()),
    )


def _sums(
    source: Source, snapshot: Snapshot, dumping: Child, *, jobs: int, watch: Watch
) -> dict[str, TableSum]:
    def tick() -> None:
        if dumping.code:
            raise dump.failed(dumping, "pg_dump", damaged="The dump could not be made")
        watch.tick()

    with sharers(source.address, snapshot, size=jobs, setting=source.setting) as sessions:
        return row_sums(sessions, snapshot.tables, watch, tick=tick)


def _now(source: Source) -> tuple[dict[str, Sequence], Catalogue]:
    # A session of its own: what the holder reads may still be coloured by its snapshot.
    with open_source(source.address, setting=source.setting) as session:
        return sequences.read(session), catalogue.read(session)
