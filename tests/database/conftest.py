"""What tests of the database share: connections as web processes have them, and where messages arrive."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from django.contrib.auth.models import User
from django.test import override_settings
from psycopg_pool import AsyncConnectionPool

from companion.models import Process
from ops.stack.postgres import EmbeddedPostgres
from tests.ledgers import (
    LedgerProcess,
    StartLedger,
    are_sessions_idle,
    build_policy,
    end_all_turns,
    open_pool,
)
from tests.people import People, Person, in_database
from tests.processes import Web, pause_processes
from tests.sinks import Hook, Mailbox, start_hook, start_mailbox
from tests.staff import open_staff_client


@pytest_asyncio.fixture
async def pool(database: EmbeddedPostgres) -> AsyncIterator[AsyncConnectionPool[Any]]:
    """As web processes have one."""
    async with AsyncConnectionPool(
        database.url, min_size=1, max_size=4, open=False, kwargs={"autocommit": True, "prepare_threshold": 0}
    ) as pool:
        yield pool


@pytest_asyncio.fixture
async def start_ledger(database: EmbeddedPostgres) -> AsyncIterator[StartLedger]:
    """Ledgers of several processes over one database, under the ceiling each test names."""
    with pause_processes(are_sessions_idle):
        # Turns of other tests would count against the ceiling, and these are not left to another's sweep.
        in_database(end_all_turns)
        async with open_pool(database.url) as pool:
            yield lambda ceiling: LedgerProcess(pool, build_policy(ceiling))
        in_database(end_all_turns)
        in_database(lambda: Process.objects.filter(host="test").delete())


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    with override_settings(COMPANION_STATE_DIR=tmp_path):
        yield tmp_path


@pytest.fixture
def rosa(people: People) -> Person:
    """A participant with a name that stands in no other row."""
    return people.add_participant(f"Rosa {os.urandom(4).hex()}")


@pytest.fixture
def sam(people: People) -> User:
    """Rosa's supervisor."""
    return people.add_sam()


@pytest.fixture
def desk(service: Web, people: People, sam: User) -> Iterator[httpx.Client]:
    """Sam, signed in, as a browser without scripts has it."""
    with open_staff_client(service, sam, people.password) as client:
        yield client


@pytest.fixture
def posts() -> Iterator[Hook]:
    """The webhook of on-call."""
    with start_hook() as server:
        yield server


@pytest.fixture
def letters() -> Iterator[Mailbox]:
    """The mail server of the service."""
    with (
        start_mailbox() as server,
        override_settings(
            EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend",
            EMAIL_HOST="127.0.0.1",
            EMAIL_PORT=server.port,
            EMAIL_TIMEOUT=5,
            DEFAULT_FROM_EMAIL="companion@example.org",
        ),
    ):
        yield server
