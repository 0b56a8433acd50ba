"""What tests of the database share: connections as web processes have them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from psycopg_pool import AsyncConnectionPool

from ops.stack.postgres import EmbeddedPostgres


@pytest_asyncio.fixture
async def pool(database: EmbeddedPostgres) -> AsyncIterator[AsyncConnectionPool[Any]]:
    """As web processes have one."""
    async with AsyncConnectionPool(
        database.url, min_size=1, max_size=4, open=False, kwargs={"autocommit": True, "prepare_threshold": 0}
    ) as pool:
        yield pool
