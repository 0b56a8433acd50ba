"""Every connection of the service follows the primary: from a server that has become read-only it goes at once."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.test import override_settings
from psycopg_pool import ConnectionPool

from companion.doorbell import Doorbell
from ops.backups.connecting.address import Address
from ops.backups.connecting.direct import open_direct
from ops.project.primary import NewestTimeline, PrimaryFinder, build_connection_classes
from ops.project.wiring.pools import build_pool
from ops.stack.postgres import EmbeddedPostgres
from tests.patience import until
from tests.standby import Pair, ask, start_pair

CREATE = "CREATE TABLE moved (id int)"
INSERT = "INSERT INTO moved VALUES (1)"
COUNT = "SELECT count(*) FROM moved"
COUNT_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'follower'"
SETTING = "DIRECT_DATABASE_URL"


@pytest.fixture
def pair(database: EmbeddedPostgres) -> Iterator[Pair]:
    """A primary with a table, and an asynchronous standby of it."""
    with start_pair(database, is_synchronous=False) as pair:
        ask(pair.primary, CREATE)
        yield pair


@pytest.fixture
def finder(tmp_path: Path) -> PrimaryFinder:
    return PrimaryFinder(NewestTimeline(tmp_path / "timeline.json"))


def move(pair: Pair) -> None:
    """Promote the standby; the old primary goes on and accepts no writes any more."""
    pair.promote()
    ask(pair.primary, "ALTER SYSTEM SET default_transaction_read_only = on")
    ask(pair.primary, "SELECT pg_reload_conf()")


async def test_a_pool_of_turns_leaves_a_server_that_has_become_read_only_once_a_statement_is_refused(
    pair: Pair, finder: PrimaryFinder
) -> None:
    (_, asynchronous) = build_connection_classes(finder)
    with override_settings(
        DATABASE_URL=pair.url, DATABASE_FOLLOWS_PRIMARY=True, ASYNC_CONNECTION_CLASS=asynchronous
    ):
        pool = build_pool("follower", min_size=3, max_size=3)
    async with pool:
        await pool.wait()
        move(pair)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            async with pool.connection() as connection:
                await connection.execute(INSERT)
        # As the journal and the heartbeat do after a failure.
        await pool.check()
        for _ in range(3):
            async with pool.connection() as connection:
                await connection.execute(INSERT)
        # A server forgets a session a moment after its client has closed it.
        await until(lambda: ask(pair.primary, COUNT_SESSIONS) == [(0,)])
    assert ask(pair.standby, COUNT) == [(3,)]
    assert ask(pair.primary, COUNT) == [(0,)]
    assert finder.moves == 1


def test_a_page_meets_no_connection_to_a_server_that_has_become_read_only(
    pair: Pair, finder: PrimaryFinder
) -> None:
    (threaded, _) = build_connection_classes(finder)
    # As Django builds its pool.
    with ConnectionPool(
        pair.url,
        min_size=2,
        max_size=2,
        connection_class=threaded,
        kwargs={"autocommit": True},
        check=ConnectionPool.check_connection,
    ) as pool:
        pool.wait()
        move(pair)
        for _ in range(2):
            with pool.connection() as connection:
                connection.execute(INSERT)
    assert ask(pair.standby, COUNT) == [(2,)]


def test_backup_and_drill_use_the_one_server_that_accepts_writes(pair: Pair) -> None:
    address = Address.parse(pair.url, setting=SETTING, may_name_several=True)
    pair.promote()
    pair.primary.kill()

    found = address.find_primary(setting=SETTING)

    assert not found.names_several
    # Their sessions are read-only, and read-write is not asked for again.
    with open_direct(found, {"default_transaction_read_only": "on"}, setting=SETTING) as session:
        assert session.execute(COUNT).fetchone() == (0,)
        assert f"host={session.info.host}" in pair.standby.url.replace("%2F", "/")


@pytest.mark.long
async def test_the_doorbell_leaves_a_server_that_has_become_read_only(
    pair: Pair, finder: PrimaryFinder
) -> None:
    (_, asynchronous) = build_connection_classes(finder)
    connected: asyncio.Queue[None] = asyncio.Queue()

    async def note() -> None:
        connected.put_nowait(None)

    bell = Doorbell(pair.url, on_notification=lambda _: None, on_connect=note, connection_class=asynchronous)
    listening = asyncio.create_task(bell.run())
    try:
        await connected.get()
        move(pair)
        async with asyncio.timeout(15):
            await connected.get()
        listeners = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
        assert ask(pair.standby, listeners) == [(1,)]
    finally:
        listening.cancel()
