"""Times a drill against its lower bounds: hashing every row once, and dump and restore alone."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import mean

from ops.backups.archive.capture import Source
from ops.backups.connecting.session import Session, open_source
from ops.backups.drill import Drill
from ops.backups.programs import dump, tools
from ops.backups.reading import fingerprint, snapshot
from ops.backups.reading.inventory import Table, list_tables
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring import place, restore_spec, run_notes
from ops.backups.restoring.order import DrillOrder, RunEnvironment, name_scratch
from ops.backups.run.monitor import RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder

MIN_TELLING_ROWS = 1_000_000

HASH_SHARE = """
SELECT count(*), sum(hashtextextended(r, 0)), sum(hashtextextended(r, 1))
FROM (SELECT ROW({columns})::text AS r FROM ONLY {table} WHERE ctid >= '({start},0)'{end} OFFSET 0) rows
"""


def measure(order: DrillOrder, monitor: RunMonitor) -> tuple[str, DrillVerdict]:
    """Time hashing, dump and restore alone, and a drill. Returns the text to print and the drill's verdict.

    Raises DrillStopped, psycopg.Error or OSError.
    """
    assert order.source is not None
    with monitor.open_cleanup_stack() as stack:
        source = restore_spec.open_checked_source(order.source, setting=order.setting, in_use=order.in_use)
        stack.callback(source.session.close)
        there = list_tables(source.session)
        floor_s, sums_s = _time_hashing(source, there, order.jobs, monitor)
        before = _time_programs(source, order, monitor)
        drilled = RunMonitor()
        began = time.monotonic()
        report = Drill(order, drilled).run()
        whole = time.monotonic() - began
        # Before and after the drill, because the speed of a shared machine varies.
        after = _time_programs(source, order, monitor)
    dump_s, restore_s = (mean(pair) for pair in zip(before, after, strict=True))
    lines = [
        f"{report.rows:,} rows, {report.source_bytes / 1e6:,.0f} MB; {order.jobs} connections; {report.verdict}",
        f"every row hashed once   {floor_s:7.1f} s",
        f"row sums of one side    {sums_s:7.1f} s   {sums_s / floor_s:.2f} x (to reach: 1.3)",
        f"dump + restore alone    {dump_s:7.1f} + {restore_s:.1f} s, "
        f"of {_format_pair(before)} and {_format_pair(after)}",
        f"the whole drill         {whole:7.1f} s   {whole / (dump_s + restore_s):.2f} x (to reach: 1.5)",
        *[f"  {name:<21} {seconds:7.1f} s" for name, seconds in report.seconds.items()],
    ]
    if report.rows < MIN_TELLING_ROWS:
        lines.append(
            f"Fewer than {MIN_TELLING_ROWS:,} rows say nothing about the speed: starting up is most of this."
        )
    return "\n".join([*lines, *([f"Stopped  {report.stopped}"] if report.stopped else [])]), report.verdict


def _time_hashing(source: Source, there: list[Table], jobs: int, monitor: RunMonitor) -> tuple[float, float]:
    """Return seconds to hash every row by one plain query per table, and by our row sums; the better of two each."""
    floors, ours = [], []
    for _ in range(2):
        with ThreadPoolExecutor(jobs) as pool:
            sessions = [open_source(source.address, setting=source.setting) for _ in range(jobs)]
            began = time.monotonic()
            hashing = [
                pool.submit(_hash_share, session, there, n, jobs) for n, session in enumerate(sessions)
            ]
            for share in hashing:
                share.result()
            floors.append(time.monotonic() - began)
        for session in sessions:
            session.close()
        with monitor.time_phase("row sums alone"):
            held = snapshot.take_snapshot(source.session)
            with snapshot.open_sharing_sessions(
                source.address, held, size=jobs, setting=source.setting
            ) as sharing:
                began = time.monotonic()
                fingerprint.sum_rows(sharing, held.tables, monitor)
                ours.append(time.monotonic() - began)
            source.session.execute("ROLLBACK")
    return min(floors), min(ours)


def _hash_share(session: Session, there: list[Table], share: int, of: int) -> None:
    for table in there:
        start, stop = table.pages * share // of, table.pages * (share + 1) // of
        end = f" AND ctid < '({stop},0)'" if share + 1 < of else ""
        query = HASH_SHARE.format(columns=", ".join(table.columns), table=table.name, start=start, end=end)
        session.execute(query.encode())


def _format_pair(seconds: tuple[float, float]) -> str:
    return " + ".join(f"{part:.1f}" for part in seconds)


def _time_programs(source: Source, order: DrillOrder, monitor: RunMonitor) -> tuple[float, float]:
    """Return seconds of pg_dump and of pg_restore with nothing else running."""
    with monitor.open_cleanup_stack() as stack:
        return _time_programs_in(source, order, stack, monitor)


def _time_programs_in(
    source: Source, order: DrillOrder, stack: ExitStack, monitor: RunMonitor
) -> tuple[float, float]:
    needed = restore_spec.describe_source(source)
    programs = tools.find_tools(needed.identity.major, tools.list_folders(order.bin), server=True)
    run = RunEnvironment().draw_run_name()
    marker = Marker(run=run, source=needed.name, scratch=name_scratch(run))
    noted = run_notes.write_note(order.state, order.work_folder / name_scratch(run), marker)
    stack.callback(lambda: noted.close(keep=(order.work_folder / name_scratch(run)).exists()))
    folder = RunFolder.create(order.work_folder, marker)
    stack.callback(folder.remove)
    where = place.start_private(folder, programs, needed, stack=stack, monitor=monitor)
    held = snapshot.take_snapshot(source.session)
    into = folder.path / "dump"
    with monitor.time_phase("dump alone"):
        began = time.monotonic()
        dumping = dump.start_dump(
            programs, source.address, into, snapshot=held.name, jobs=order.jobs, folder=folder
        )
        with dumping:
            if dumping.wait(monitor.tick) != 0:
                raise dump.make_error(dumping, "pg_dump", damaged="The dump could not be made")
        dump_s = time.monotonic() - began
    source.session.execute("ROLLBACK")
    made = place.create(where, marker, needed)
    with monitor.time_phase("restore alone"):
        began = time.monotonic()
        restoring = dump.start_restore(
            programs,
            made.address,
            dump.recognise_archive(into),
            jobs=order.jobs,
            no_owner=False,
            folder=folder,
        )
        with restoring:
            if restoring.wait(monitor.tick) != 0:
                raise dump.make_error(restoring, "pg_restore", damaged="The dump does not restore")
        return dump_s, time.monotonic() - began
