"""One snapshot for everything, and a pool of sessions that ends with its block."""

import threading

import psycopg
import pytest

from ops.backups.connecting.session import Session, open_scratch, open_source
from ops.backups.connecting.worker_pool import WorkerPool
from ops.backups.reading.row_sums import Piece, PieceSum, sum_piece
from ops.backups.reading.snapshot import Snapshot, open_sharing_sessions, take_snapshot
from ops.backups.run.errors import CouldNotRun, SourceChanged
from tests.database.backups.drill_server import SETTING, Server
from tests.patience import until

WAITS = """
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE NOT l.granted AND d.datname = 'emptied'
"""


async def test_a_table_emptied_while_the_snapshot_is_taken_makes_it_begin_anew(server: Server) -> None:
    server.create("emptied", like="sample")
    held: list[Snapshot] = []
    with open_source(server.address("emptied"), setting=SETTING) as session:
        taking = threading.Thread(target=lambda: held.append(take_snapshot(session)))
        with psycopg.connect(server.url_of("emptied")) as writer:
            writer.execute("TRUNCATE visit")
            taking.start()
            await until(lambda: server.one("postgres", WAITS) > 0)
        taking.join(20)

        (visit,) = [table for table in held[0].tables if table.name == "public.visit"]
        assert visit.in_place and visit.pages == 0
        with open_sharing_sessions(server.address("emptied"), held[0], size=1, setting=SETTING) as (sharer,):
            assert sharer.execute("SELECT count(*) FROM public.visit").fetchone() == (0,)
    server.drop("emptied")


def test_sharers_see_what_the_holder_saw_and_not_what_came_after(server: Server) -> None:
    server.create("shared", like="sample")
    with open_source(server.address("shared"), setting=SETTING) as session:
        held = take_snapshot(session)
        server.load("shared", "INSERT INTO heap VALUES (7, 'late')")
        with open_sharing_sessions(server.address("shared"), held, size=2, setting=SETTING) as sessions:
            seen = [sharer.execute("SELECT count(*) FROM public.heap").fetchone() for sharer in sessions]
    server.drop("shared")

    assert seen == [(4,), (4,)]


def test_a_locked_table_can_be_read_and_written_and_not_emptied(server: Server) -> None:
    server.create("locked", like="sample")
    with open_source(server.address("locked"), setting=SETTING) as session:
        take_snapshot(session)
        with server.connected("locked") as writer:
            writer.execute("SET lock_timeout = '50ms'")
            writer.execute("UPDATE heap SET b = b")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                writer.execute("TRUNCATE heap")
    server.drop("locked")


def make_piece(sql: str, *, is_information: bool = False) -> Piece:
    return Piece(table="x", sql=sql, pages=1, is_information=is_information)


def test_an_error_of_one_session_ends_the_work_and_the_long_statements_of_the_others(server: Server) -> None:
    sessions = [open_scratch(server.address("sample"), setting=SETTING) for _ in range(2)]
    pool = WorkerPool[Piece, PieceSum](sessions, sum_piece)

    with pytest.raises(CouldNotRun, match="22012"), pool:
        list(
            pool.run_jobs([make_piece("SELECT pg_sleep(60)"), make_piece("SELECT 1 / 0")], tick=lambda: None)
        )

    assert all(session.closed for session in sessions)


def test_a_tick_that_raises_ends_the_work(server: Server) -> None:
    sessions: list[Session] = [open_scratch(server.address("sample"), setting=SETTING)]
    pool = WorkerPool[Piece, PieceSum](sessions, sum_piece)

    def tick() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError), pool:
        list(pool.run_jobs([make_piece("SELECT pg_sleep(60)")], tick=tick))

    assert sessions[0].closed


def test_a_materialized_view_that_is_being_refreshed_is_left_out_and_not_waited_for(server: Server) -> None:
    with (
        psycopg.connect(server.url_of("sample")) as refresher,
        open_source(server.address("sample"), setting=SETTING) as session,
    ):
        refresher.execute("REFRESH MATERIALIZED VIEW totals")
        session.execute("SET lock_timeout = '50ms'")
        session.execute("BEGIN")
        found = sum_piece(session, make_piece("SELECT * FROM public.totals", is_information=True))

        assert found.was_left_out
        assert session.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(SourceChanged):
            sum_piece(session, make_piece("SELECT * FROM public.totals"))
