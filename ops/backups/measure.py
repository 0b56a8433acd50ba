"""The drill against its floors, in one run on one machine: what comparing everything costs on top of the least."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import mean

from ops.backups.archive.capture import Source
from ops.backups.connecting.session import Session, open_source
from ops.backups.drill import Drill
from ops.backups.programs import dump, tools
from ops.backups.reading import fingerprint, snapshot
from ops.backups.reading.inventory import Table, tables
from ops.backups.reporting.verdict import Verdict
from ops.backups.restoring import place, restore_spec, whereabouts
from ops.backups.restoring.order import Order, World, scratch_name
from ops.backups.run.run_folder import Marker, RunFolder
from ops.backups.run.watch import Watch

TELLING_ROWS = 1_000_000

HALF = """
SELECT count(*), sum(hashtextextended(r, 0)), sum(hashtextextended(r, 1))
FROM (SELECT ROW({columns})::text AS r FROM ONLY {table} WHERE ctid >= '({start},0)'{end} OFFSET 0) rows
"""


def measure(order: Order, watch: Watch) -> tuple[str, Verdict]:
    """Hash every row once; dump and restore alone; then drill. Returns the lines to print, and the drill's verdict.

    Raises DrillStopped, psycopg.Error or OSError.
    """
    assert order.source is not None
    with watch.orderly() as stack:
        source = restore_spec.open_right_source(order.source, setting=order.setting, in_use=order.in_use)
        stack.callback(source.session.close)
        there = tables(source.session)
        floor_s, sums_s = _hashing(source, there, order.jobs, watch)
        before = _dump_and_restore(source, order, watch)
        drilled = Watch()
        began = time.monotonic()
        report = Drill(order, drilled).run()
        whole = time.monotonic() - began
        # Once before and once after, because a machine that others use is not the same from minute to minute.
        after = _dump_and_restore(source, order, watch)
    dump_s, restore_s = (mean(pair) for pair in zip(before, after, strict=True))
    lines = [
        f"{report.rows:,} rows, {report.source_bytes / 1e6:,.0f} MB; {order.jobs} connections; {report.verdict}",
        f"every row hashed once   {floor_s:7.1f} s",
        f"row sums of one side    {sums_s:7.1f} s   {sums_s / floor_s:.2f} x (to reach: 1.3)",
        f"dump + restore alone    {dump_s:7.1f} + {restore_s:.1f} s, of {_pair(before)} and {_pair(after)}",
        f"the whole drill         {whole:7.1f} s   {whole / (dump_s + restore_s):.2f} x (to reach: 1.5)",
        *[f"  {name:<21} {seconds:7.1f} s" for name, seconds in report.seconds.items()],
    ]
    if report.rows < TELLING_ROWS:
        lines.append(
            f"Fewer than {TELLING_ROWS:,} rows say nothing about the speed: starting up is most of this."
        )
    return "\n".join([*lines, *([f"Stopped  {report.stopped}"] if report.stopped else [])]), report.verdict


def _hashing(source: Source, there: list[Table], jobs: int, watch: Watch) -> tuple[float, float]:
    """Seconds for the plainest way to hash every row once, and for ours; the better of two each."""
    floors, ours = [], []
    for _ in range(2):
        with ThreadPoolExecutor(jobs) as pool:
            sessions = [open_source(source.address, setting=source.setting) for _ in range(jobs)]
            began = time.monotonic()
            hashing = [pool.submit(_plainly, session, there, n, jobs) for n, session in enumerate(sessions)]
            for share in hashing:
                share.result()
            floors.append(time.monotonic() - began)
        for session in sessions:
            session.close()
        with watch.phase("row sums alone"):
            held = snapshot.hold(source.session)
            with snapshot.sharers(source.address, held, size=jobs, setting=source.setting) as sharing:
                began = time.monotonic()
                fingerprint.row_sums(sharing, held.tables, watch)
                ours.append(time.monotonic() - began)
            source.session.execute("ROLLBACK")
    return min(floors), min(ours)


def _plainly(session: Session, there: list[Table], share: int, of: int) -> None:
    for table in there:
        start, stop = table.pages * share // of, table.pages * (share + 1) // of
        end = f" AND ctid < '({stop},0)'" if share + 1 < of else ""
        query = HALF.format(columns=", ".join(table.columns), table=table.name, start=start, end=end)
        session.execute(query.encode())


def _pair(seconds: tuple[float, float]) -> str:
    return " + ".join(f"{part:.1f}" for part in seconds)


def _dump_and_restore(source: Source, order: Order, watch: Watch) -> tuple[float, float]:
    """Seconds for pg_dump and for pg_restore with nothing beside them."""
    with watch.orderly() as stack:
        return _alone(source, order, stack, watch)


def _alone(source: Source, order: Order, stack: ExitStack, watch: Watch) -> tuple[float, float]:
    needed = restore_spec.of_source(source)
    programs = tools.find(needed.identity.major, tools.places(order.bin), server=True)
    run = World().run_name()
    marker = Marker(run=run, source=needed.name, scratch=scratch_name(run))
    noted = whereabouts.note(order.state, order.work_folder / scratch_name(run), marker)
    stack.callback(lambda: noted.close(keep=(order.work_folder / scratch_name(run)).exists()))
    folder = RunFolder.make(order.work_folder, marker)
    stack.callback(folder.remove)
    where = place.private(folder, programs, needed, stack=stack, watch=watch)
    held = snapshot.hold(source.session)
    into = folder.path / "dump"
    with watch.phase("dump alone"):
        began = time.monotonic()
        dumping = dump.start_dump(
            programs, source.address, into, snapshot=held.name, jobs=order.jobs, folder=folder
        )
        with dumping:
            if dumping.wait(watch.tick) != 0:
                raise dump.failed(dumping, "pg_dump", damaged="The dump could not be made")
        dump_s = time.monotonic() - began
    source.session.execute("ROLLBACK")
    made = place.create(where, marker, needed)
    with watch.phase("restore alone"):
        began = time.monotonic()
        restoring = dump.start_restore(
            programs, made.address, dump.recognise(into), jobs=order.jobs, no_owner=False, folder=folder
        )
        with restoring:
            if restoring.wait(watch.tick) != 0:
                raise dump.failed(restoring, "pg_restore", damaged="The dump does not restore")
        return dump_s, time.monotonic() - began
