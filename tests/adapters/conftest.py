"""Every test of an adapter runs over both transports, and against a provider with no faults left over."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from routing.adapters.transport import Transport, build_client
from routing.contracts import Lane
from tests.adapters.hearing import lane_at
from tests.processes import Rehearsal


@pytest.fixture(params=["aiohttp", "httpx"])
def transport(request: pytest.FixtureRequest) -> Transport:
    chosen: Transport = request.param
    return chosen


@pytest.fixture
async def client(transport: Transport) -> AsyncIterator[httpx.AsyncClient]:
    async with build_client(transport=transport) as client:
        yield client


@pytest.fixture
def provider(rehearsal: Rehearsal) -> Iterator[Rehearsal]:
    rehearsal.clear()
    yield rehearsal
    rehearsal.clear()


@pytest.fixture
def lane(provider: Rehearsal) -> Lane:
    return lane_at(provider.url)
