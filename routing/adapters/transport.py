"""Builds the one HTTP client of an event loop, over either of two transports, and tells whether a connection is new."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextvars import ContextVar
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Literal

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport
from httpx_aiohttp.transport import AiohttpResponseStream, map_aiohttp_exceptions

Transport = Literal["aiohttp", "httpx"]
KEPT = 20
KEPT_S = 15.0
"""Few connections are kept, and not for long: a long list of idle ones makes httpx's pool slow, and a provider
closes what it has not heard from."""

HEADER_LIMIT = 64 * 1024
"""Bytes of one header line: some gateways send long policies and cookies, and aiohttp alone takes 8 kB."""


class ConnectionNote:
    """What the transport notes about one attempt."""

    def __init__(self) -> None:
        self.reused = False
        """The request went out on a kept connection, which the other end may have closed in the meantime."""
        self.transport: asyncio.Transport | None = None
        self._connecting = False

    def abandon(self) -> None:
        """After an attempt that was broken off: throw away what the other end has not taken yet.

        asyncio's polite closing, which aiohttp uses, would wait for that for ever. Without anything unsent the
        polite closing stands, and the other end hears of it at once.
        """
        if self.transport is not None and self.transport.get_write_buffer_size():
            self.transport.abort()

    async def httpx_trace(self, event: str, info: dict[str, Any]) -> None:
        """For httpx's `trace` extension."""
        if event == "http11.send_request_headers.started":
            self.reused = not self._connecting
        elif event == "connection.connect_tcp.started":
            self._connecting = True


NOTE: ContextVar[ConnectionNote | None] = ContextVar("routing.adapters.transport.NOTE", default=None)
"""The note of the attempt that runs in this task; aiohttp's tracing has no other way to know whose request it is."""


def build_client(
    *, transport: Transport = "aiohttp", context: ssl.SSLContext | None = None
) -> httpx.AsyncClient:
    """A client for one event loop; close it with `aclose`. No limit on connections: the waiting room is the limit.

    `context` holds the authorities to trust, the usual public ones if it is None. The client follows no redirect,
    believes no proxy or certificate variable of the environment, and keeps no cookie.
    """
    context = context or httpx.create_ssl_context(trust_env=False)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT, keepalive_expiry=KEPT_S)
    inner: httpx.AsyncBaseTransport
    if transport == "aiohttp":

        def session() -> aiohttp.ClientSession:
            # Called inside the loop at the first request. `limit=0` is aiohttp's word for none; without it, 100.
            connector = _Connector(limit=0, keepalive_timeout=KEPT_S, ssl=context)
            return aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[_tracing()],
                skip_auto_headers=("User-Agent",),
                max_line_size=HEADER_LIMIT,
                max_field_size=HEADER_LIMIT,
            )

        inner = _Transport(verify=context, trust_env=False, limits=limits, client=session)
    else:
        inner = httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)
    # Both libraries keep cookies of their own unless told not to.
    jar = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(
        transport=inner, trust_env=False, follow_redirects=False, timeout=None, cookies=jar
    )


class _Transport(AiohttpTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if isinstance(response.stream, AiohttpResponseStream):
            response.stream = _Stream(response.stream._aiohttp_response)
        return response


class _Stream(AiohttpResponseStream):
    """Says everything that was received, and only then how the connection broke.

    aiohttp raises at the next read and forgets bytes that were not read yet. The last words before a break would be
    lost, and with a short beginning the whole of it.
    """

    async def __aiter__(self) -> AsyncIterator[bytes]:
        content = self._aiohttp_response.content
        with map_aiohttp_exceptions():
            try:
                async for chunk in content.iter_chunked(self.CHUNK_SIZE):
                    yield chunk
            except aiohttp.ClientError:
                # There is no public way past the exception; the tests of endings stand guard over this one.
                content._exception = None
                while rest := content.read_nowait(self.CHUNK_SIZE):
                    yield rest
                raise


class _Connector(aiohttp.TCPConnector):
    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109
        connection = await super().connect(req, traces, timeout)
        note = NOTE.get()
        if note is not None:
            note.transport = connection.transport
        return connection


def _tracing() -> aiohttp.TraceConfig:
    async def reused(*_: Any) -> None:
        note = NOTE.get()
        if note is not None:
            note.reused = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(reused)
    return trace
