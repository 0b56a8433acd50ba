"""Every test of an adapter runs over both transports, and against a provider with no faults left over."""

import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from routing.adapters.transport import Transport, build_client
from routing.contracts import Lane
from tests.adapters.calls import lane_at
from tests.processes import Rehearsal


@pytest.fixture(params=["aiohttp", "httpx"])
def transport(request: pytest.FixtureRequest) -> Transport:
    chosen: Transport = request.param
    return chosen


@pytest.fixture(scope="session")
def trust() -> ssl.SSLContext:
    """A TLS context for the session: loading all authorities takes longer than most tests."""
    return httpx.create_ssl_context(trust_env=False)


@pytest.fixture
async def client(transport: Transport, trust: ssl.SSLContext) -> AsyncIterator[httpx.AsyncClient]:
    async with build_client(transport=transport, context=trust) as client:
        yield client


@pytest.fixture
def provider(rehearsal: Rehearsal) -> Rehearsal:
    return rehearsal


@pytest.fixture
def wire() -> str:
    """The adapter of `lane`: chat-completions, unless a test says otherwise."""
    return "openai"


@pytest.fixture
def lane(provider: Rehearsal, wire: str) -> Lane:
    return lane_at(provider.url, adapter=wire)
