"""The HTTP clients that are compared: stock httpx, tuned httpx, the service's client, bare aiohttp."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import httpx

from routing.adapters.transport import build_client

ReplyPieces = AsyncIterator[tuple[str, str | None]]
"""Pieces of a streamed chat completion, each with its finish reason if it has one."""
StreamReply = Callable[[str], ReplyPieces]


def build_upstream_client(name: str, upstream: str) -> StreamReply:
    """Build `stock`, `tuned`, `service` or `aiohttp`. Call on the event loop that will use it."""
    match name:
        case "aiohttp":
            return _by_aiohttp(upstream)
        case "service":
            return _by_httpx(build_client(), upstream)
        case "stock":
            # The defaults, with their limit of 100 connections.
            return _by_httpx(httpx.AsyncClient(timeout=None, trust_env=False), upstream)
        case _:
            # The fastest settings found: no limit, and few idle connections, because the pool scans all of them.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            return _by_httpx(httpx.AsyncClient(timeout=None, trust_env=False, limits=limits), upstream)


def _by_httpx(client: httpx.AsyncClient, upstream: str) -> StreamReply:
    async def ask(question: str) -> ReplyPieces:
        async with client.stream("POST", f"{upstream}/chat/completions", json=_body(question)) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: {") and (choices := json.loads(line[6:])["choices"]):
                    yield choices[0]["delta"].get("content") or "", choices[0]["finish_reason"]

    return ask


def _by_aiohttp(upstream: str) -> StreamReply:
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def ask(question: str) -> ReplyPieces:
        async with session.post(f"{upstream}/chat/completions", json=_body(question)) as response:
            response.raise_for_status()
            async for line in response.content:
                if line.startswith(b"data: {") and (choices := json.loads(line[6:])["choices"]):
                    yield choices[0]["delta"].get("content") or "", choices[0]["finish_reason"]

    return ask


def _body(question: str) -> dict[str, Any]:
    return {"model": "rehearsal-1", "stream": True, "messages": [{"role": "user", "content": question}]}
