"""The ways to ask the provider that are compared: stock httpx, the service's own client, and bare aiohttp."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import httpx

from routing.adapters.transport import build_client

Chunks = AsyncIterator[dict[str, Any]]
Way = Callable[[str], Chunks]
"""Asks a question; gives the chunks of a streamed chat completion, as anybody would read them."""


def stock_httpx() -> httpx.AsyncClient:
    """httpx as it comes, but for its limit of 100 connections, which would make a crowd wait in line."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return httpx.AsyncClient(timeout=None, trust_env=False, limits=limits)


def way(name: str, upstream: str) -> Way:
    """`httpx`, `service` or `aiohttp`. Call on the event loop that is to ask."""
    if name == "aiohttp":
        return _by_aiohttp(upstream)
    return _by_httpx(build_client() if name == "service" else stock_httpx(), upstream)


def _by_httpx(client: httpx.AsyncClient, upstream: str) -> Way:
    async def ask(question: str) -> Chunks:
        async with client.stream("POST", f"{upstream}/chat/completions", json=_body(question)) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    yield json.loads(line[6:])

    return ask


def _by_aiohttp(upstream: str) -> Way:
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def ask(question: str) -> Chunks:
        async with session.post(f"{upstream}/chat/completions", json=_body(question)) as response:
            response.raise_for_status()
            async for line in response.content:
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:])

    return ask


def _body(question: str) -> dict[str, Any]:
    return {"model": "rehearsal-1", "stream": True, "messages": [{"role": "user", "content": question}]}
