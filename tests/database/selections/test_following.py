"""How a process learns which chain it serves: copy, push, poll, and nothing that takes a chain away (R4 to R7)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from psycopg_pool import AsyncConnectionPool

from ops.alerts.kinds import AlertKind
from ops.models import Alert
from ops.selections.last_known_good import LastKnownGood
from ops.selections.pins import THE_SERVICE
from ops.selections.store import RoutingStore
from routing.lanes import NORMAL
from routing.selection import COMPILED_IN, Selection
from tests.patience import until
from tests.people import in_database
from tests.selections import ROUTING, insert, newest, rows_since, select

Pool = AsyncConnectionPool[Any]


class Line:
    """The way to the database, which a test may cut."""

    def __init__(self, pool: Pool, away: Pool) -> None:
        self._pool = pool
        self._away = away
        self.is_cut = False

    def connection(self) -> Any:
        return (self._away if self.is_cut else self._pool).connection()


@pytest_asyncio.fixture
async def away() -> AsyncIterator[Pool]:
    """A database that is away: nothing ever connects."""
    async with AsyncConnectionPool(
        "postgresql://stranger@127.0.0.1:1/nothing", min_size=0, max_size=1, timeout=0.2, open=False
    ) as pool:
        yield pool


class Seat:
    """A process's place: its disk, its clock, what it told operators, how often it was told of another chain."""

    def __init__(self, folder: Path) -> None:
        self.copy = LastKnownGood(folder, ROUTING)
        self.told: list[tuple[AlertKind, str]] = []
        self.changes = 0
        self.late = timedelta()

    def store(self, pool: Any, *, poll_s: float = 60.0) -> RoutingStore:
        return RoutingStore(
            ROUTING,
            self.copy,
            pool,
            raise_alert=lambda kind, about: self.told.append((kind, about)),
            on_change=self._changed,
            now=lambda: datetime.now(UTC) + self.late,
            poll_s=poll_s,
        )

    def _changed(self) -> None:
        self.changes += 1


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(tmp_path)


@asynccontextmanager
async def running(store: RoutingStore) -> AsyncIterator[None]:
    task = asyncio.create_task(store.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def kept(version: int, preset: str = "local_only", *, lasts: timedelta = timedelta(hours=1)) -> Selection:
    at = datetime.now(UTC)
    ends = None if preset == NORMAL else at + lasts
    return Selection(version=version, preset=preset, by="Ines", reason="A test", at=at, expires_at=ends)


# At the start.


async def test_without_a_copy_it_begins_with_what_is_compiled_in(seat: Seat, away: Pool) -> None:
    store = seat.store(away)
    assert store.current == COMPILED_IN
    assert (store.route().preset, store.route().version) == (NORMAL, 0)


async def test_it_begins_with_the_copy_and_without_the_database(seat: Seat, away: Pool) -> None:
    seat.copy.write(kept(7))
    store = seat.store(away)

    await store.look()

    assert (store.route().preset, store.route().version) == ("local_only", 7)
    assert [lane.name for lane in store.route().lanes] == ["rehearsal_local"]


async def test_a_damaged_copy_is_told_of_and_leaves_what_is_compiled_in(
    seat: Seat, away: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    seat.copy.write(kept(7))
    seat.copy.path.write_text('{"version": 8, "reason": "a secret"}')
    with caplog.at_level(logging.ERROR):
        store = seat.store(away)

    assert store.route().preset == NORMAL
    assert seat.told == [(AlertKind.INVALID_DOCUMENT, "the copy on disk")]
    assert "routing_store.refused" in caplog.text
    assert "a secret" not in caplog.text


async def test_an_older_copy_gives_way_to_the_row_and_is_renewed(seat: Seat, pool: Pool) -> None:
    seat.copy.write(select("local_only"))
    chosen = select("pin_second")
    store = seat.store(pool)

    await store.look()

    assert store.current == chosen
    assert seat.copy.read() == chosen
    assert seat.changes == 1


async def test_a_copy_that_is_newer_than_every_row_stays(seat: Seat, pool: Pool) -> None:
    """The database was restored from a backup: what was selected since is still what people decided."""
    ahead = kept(newest().version + 50)
    seat.copy.write(ahead)
    select("pin_second")
    store = seat.store(pool)

    await store.look()

    assert store.current == ahead
    assert seat.copy.read() == ahead


# While it runs.


async def test_a_notification_is_followed_at_once(seat: Seat, pool: Pool) -> None:
    store = seat.store(pool)
    first = select("pin_second")
    async with running(store):
        await until(lambda: store.current == first)
        chosen = select("local_only")
        store.follow(chosen.version)
        await until(lambda: store.current == chosen, within_s=5)


async def test_where_the_notification_is_lost_the_poll_finds_it(seat: Seat, pool: Pool) -> None:
    store = seat.store(pool, poll_s=0.05)
    async with running(store):
        chosen = select("local_only")
        await until(lambda: store.current == chosen, within_s=5)


@pytest.mark.parametrize("version", [0, 6, 7])
async def test_a_notification_of_no_newer_version_changes_nothing(
    seat: Seat, away: Pool, version: int
) -> None:
    seat.copy.write(kept(7))
    store = seat.store(away)
    store.follow(version)
    assert store.current.version == 7


async def test_a_failed_read_changes_nothing_and_the_next_one_is_made(
    seat: Seat, pool: Pool, away: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = select("local_only")
    line = Line(pool, away)
    store = seat.store(line)
    await store.look()
    line.is_cut = True

    await store.look()
    assert store.current == chosen
    assert "routing_store.unread" in caplog.text

    line.is_cut = False
    back = select(NORMAL)
    await store.look()
    assert store.current == back


async def test_a_row_this_release_does_not_know_leaves_the_last_good_one_and_is_told_of_once(
    seat: Seat, pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    good = select("local_only")
    store = seat.store(pool)
    await store.look()
    version = insert("of_the_next_release")

    for _ in range(3):
        await store.look()

    assert store.current == good
    assert store.route().preset == "local_only"
    assert store.refused == 1
    assert seat.told == [(AlertKind.INVALID_DOCUMENT, f"version {version}")]
    assert caplog.text.count("routing_store.refused") == 1
    assert seat.copy.read() == good

    another = insert("of_the_release_after")
    await store.look()
    assert store.refused == 2
    assert seat.told[-1] == (AlertKind.INVALID_DOCUMENT, f"version {another}")


async def test_a_process_that_starts_then_serves_what_the_others_serve(seat: Seat, pool: Pool) -> None:
    good = select("local_only")
    insert("of_the_next_release")
    store = seat.store(pool)

    await store.look()

    assert store.current == good


async def test_a_disk_that_is_full_or_locked_does_not_keep_a_selection_from_being_served(
    seat: Seat, pool: Pool, tmp_path: Path
) -> None:
    (tmp_path / "routing").write_text("in the way")
    chosen = select("local_only")
    store = seat.store(pool)

    await store.look()

    assert store.current == chosen


# When its time is up.


async def test_a_pin_is_over_when_its_time_is_up_with_the_database_away(seat: Seat, away: Pool) -> None:
    seat.copy.write(kept(7))
    store = seat.store(away)
    assert store.route().preset == "local_only"

    seat.late = timedelta(hours=2)

    assert (store.route().preset, store.route().version) == (NORMAL, 7)
    await store.look()
    assert store.current.version == 7


async def test_the_moment_a_pin_ends_waiting_turns_are_told(seat: Seat, away: Pool) -> None:
    seat.copy.write(kept(7, lasts=timedelta(seconds=0.3)))
    store = seat.store(away)
    async with running(store):
        await until(lambda: seat.changes == 1, within_s=5)
    assert store.route().preset == NORMAL


async def test_web_processes_revert_it_without_the_worker_and_only_one_of_them_does(
    tmp_path: Path, pool: Pool
) -> None:
    past = datetime.now(UTC) - timedelta(hours=2)
    version = insert("local_only", at=past)
    stores = [Seat(tmp_path / str(number)).store(pool) for number in range(4)]
    for store in stores:
        await store.look()
        assert store.route().preset == NORMAL

    await asyncio.gather(*(store.look() for store in stores))
    await asyncio.gather(*(store.look() for store in stores))

    (back,) = rows_since(version)
    assert (back.preset, back.by, back.expires_at) == (NORMAL, THE_SERVICE, None)
    assert back.reason == f"The time of version {version} was up."
    assert {store.current.version for store in stores} == {back.version}
    (alert,) = in_database(lambda: list(Alert.objects.filter(kind=AlertKind.PIN_REVERTED)))
    assert (alert.about, alert.count) == (f"version {version} (local_only)", 1)


async def test_a_pin_whose_time_is_not_up_is_left_alone(seat: Seat, pool: Pool) -> None:
    chosen = select("local_only")
    store = seat.store(pool)
    for _ in range(2):
        await store.look()
    assert rows_since(chosen.version) == []
