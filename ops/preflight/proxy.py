"""Looks at the service from outside, by its public address: does the proxy pass pages and sockets on?"""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
from django.core.checks import CheckMessage, Error, Warning

PROXY_TIMEOUT_S = 10.0
EXAMPLE = "ops/deploy/nginx.example.conf"


async def judge_proxy(origin: str) -> list[CheckMessage]:
    """What is wrong with the way in. `origin` is such as `https://talk.example.org`."""
    timeout = aiohttp.ClientTimeout(total=PROXY_TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as client:
        try:
            return [message async for message in _ask(client, origin)]
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            return [
                Error(
                    f"{origin} cannot be reached from here ({type(failure).__name__}).",
                    hint="Look at DNS, the certificate and the proxy. If this machine has no way to the public "
                    "address, run this on one that has.",
                    id="companion.E053",
                )
            ]


async def _ask(client: aiohttp.ClientSession, origin: str) -> AsyncIterator[CheckMessage]:
    async with client.get(f"{origin}/healthz", allow_redirects=False) as answer:
        if answer.status != 200:
            yield Error(
                f"{origin}/healthz answers {answer.status}: the proxy does not lead to a web process.",
                hint=f"Compare the proxy with {EXAMPLE}.",
                id="companion.E053",
            )
            return
    async with client.get(f"{origin}/metrics", allow_redirects=False) as answer:
        if answer.status != 404:
            yield Warning(
                f"{origin}/metrics is open to the public address (it answers {answer.status}).",
                hint=f"Answer 404 there, as {EXAMPLE} does.",
                id="companion.W053",
            )
    try:
        # Without a visit it is accepted and closed at once, with a code of its own.
        async with client.ws_connect(f"{origin}/ws/chat/", origin=origin) as socket:
            await asyncio.wait_for(socket.receive(), PROXY_TIMEOUT_S)
    except aiohttp.WSServerHandshakeError as refusal:
        yield Error(
            f"The proxy does not pass sockets on (it answers {refusal.status}): pages would show no word.",
            hint=f"Pass the headers Upgrade, Connection, Host and Origin on, as {EXAMPLE} does.",
            id="companion.E054",
        )
