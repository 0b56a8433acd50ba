"""The ways to ask the provider that are compared: stock httpx, tuned httpx, the service's client, bare aiohttp."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import httpx

from routing.adapters.transport import build_client

Said = AsyncIterator[tuple[str, str | None]]
"""What a streamed chat completion says, piece by piece, each with the finish reason if there is one."""
Way = Callable[[str], Said]


def way(name: str, upstream: str) -> Way:
    """`stock`, `tuned`, `service` or `aiohttp`. Call on the event loop that is to ask."""
    match name:
        case "aiohttp":
            return _by_aiohttp(upstream)
        case "service":
            return _by_httpx(build_client(), upstream)
        case "stock":
            # As it comes, with its limit of 100 connections.
            return _by_httpx(httpx.AsyncClient(timeout=None, trust_env=False), upstream)
        case _:
            # The best that is to be had from it here: no limit, and few idle connections to look through.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            return _by_httpx(httpx.AsyncClient(timeout=None, trust_env=False, limits=limits), upstream)


def _by_httpx(client: httpx.AsyncClient, upstream: str) -> Way:
    async def ask(question: str) -> Said:
        async with client.stream("POST", f"{upstream}/chat/completions", json=_body(question)) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: {") and (choices := json.loads(line[6:])["choices"]):
                    yield choices[0]["delta"].get("content") or "", choices[0]["finish_reason"]

    return ask


def _by_aiohttp(upstream: str) -> Way:
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def ask(question: str) -> Said:
        async with session.post(f"{upstream}/chat/completions", json=_body(question)) as response:
            response.raise_for_status()
            async for line in response.content:
                if line.startswith(b"data: {") and (choices := json.loads(line[6:])["choices"]):
                    yield choices[0]["delta"].get("content") or "", choices[0]["finish_reason"]

    return ask


def _body(question: str) -> dict[str, Any]:
    return {"model": "rehearsal-1", "stream": True, "messages": [{"role": "user", "content": question}]}
