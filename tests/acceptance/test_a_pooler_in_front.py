"""The service behind a real PgBouncer: refused in transaction mode, and served in session mode."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ops.preflight.database_look import look_at_database
from ops.preflight.pooling import Pooling, find_pooling
from ops.stack.postgres import EmbeddedPostgres
from tests.acceptance.backups.pooler import Mode, pooler
from tests.folders import allow_traversal
from tests.page_socket import Page
from tests.people import People
from tests.prefork import prefork
from tests.processes import ROOT, Web

REFUSED = 78
POOL_SIZE = 40


@pytest.fixture
def pooled(database: EmbeddedPostgres, tmp_path: Path) -> Iterator[Callable[[Mode], Any]]:
    """Starts a pooler before the tests' database in one of its modes; gives its address."""
    allow_traversal(tmp_path)

    @contextmanager
    def start(mode: Mode) -> Iterator[str]:
        with pooler(
            tmp_path / mode, database.url, mode=mode, database="companion", pool_size=POOL_SIZE
        ) as url:
            yield url

    yield start


def connect_to(url: str) -> Callable[[], Any]:
    return partial(psycopg.AsyncConnection.connect, url, autocommit=True, prepare_threshold=None)


async def test_what_stands_between_is_found_by_what_arrives(
    database: EmbeddedPostgres, pooled: Callable[[Mode], Any]
) -> None:
    assert await find_pooling(connect_to(database.url)) is Pooling.DIRECT
    with pooled("session") as url:
        facts = await look_at_database(connect_to(url))
        assert facts.pooling is Pooling.SESSION
        assert facts.database is not None and facts.database.finds_tables
    with pooled("transaction") as url:
        assert await find_pooling(connect_to(url)) is Pooling.TRANSACTION


def run_manage(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "ops.project.settings"} | settings,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_web_process_does_not_start_behind_one_in_transaction_mode(
    pooled: Callable[[Mode], Any], tmp_path: Path
) -> None:
    said = tmp_path / "said"
    with pooled("transaction") as url, said.open("w") as log:
        environment = os.environ | {"DATABASE_URL": url}
        web = prefork.start(["manage.py", "serve", "--port", "0"], env=environment, stderr=log.fileno())
        assert web.wait(60) == REFUSED

    assert web.stdout is not None
    with web.stdout:
        assert web.stdout.read() == ""
    assert "The service does not start. DATABASE_URL leads through a connection pooler" in said.read_text()
    assert "Set DATABASE_URL to the server's own host and port" in said.read_text()


@pytest.mark.long
@pytest.mark.parametrize("program", ["worker", "beat"])
def test_neither_worker_nor_beat_starts_there(
    pooled: Callable[[Mode], Any], program: str, tmp_path: Path
) -> None:
    with pooled("transaction") as url:
        celery = ("-m", "celery", "--app", "ops.project.celery", program)
        schedule = ("--schedule", str(tmp_path / "beat")) if program == "beat" else ()
        ended = run_manage(*celery, *schedule, DATABASE_URL=url, VALKEY_URL="redis://127.0.0.1:1/0")

    assert ended.returncode == REFUSED
    assert "DATABASE_URL leads through a connection pooler" in ended.stderr


async def test_in_session_mode_a_message_is_answered_and_every_page_hears_of_it(
    pooled: Callable[[Mode], Any], another_web: Callable[..., Web], people: People
) -> None:
    rosa = people.rosa
    with pooled("session") as url:
        first, second = await asyncio.gather(
            *(asyncio.to_thread(another_web, DATABASE_URL=url) for _ in range(2))
        )
        cookie = rosa.sign_in(first.url)
        async with Page(first.socket_url, cookie) as page, Page(second.socket_url, cookie) as elsewhere:
            await page.next()
            await elsewhere.next()
            await page.say("Good morning, are you there?")
            ending = await page.ending()
            heard = await elsewhere.ending()
        # The processes leave before the pooler.
        first.end()
        second.end()

    assert (ending["type"], heard["type"]) == ("complete", "complete")
    [turn] = rosa.turns()
    assert turn.reply == page.words(turn.pk)
