"""Where the sockets live, and who may open one."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from channels.routing import URLRouter
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.urls import URLPattern, path, re_path

from companion.consumers import ChatConsumer, Service
from companion.same_origin import is_own_origin

log = logging.getLogger(__name__)


def sockets(service: Callable[[], Service], *beside: URLPattern) -> "SameOrigin":
    """The ASGI application for every WebSocket. `service` is asked at each connect; `beside` are sockets of others."""
    chat = ChatConsumer.as_asgi(service=service, cookie_name=settings.SESSION_COOKIE_NAME)
    return SameOrigin(
        URLRouter([path("ws/chat/", chat), *beside, re_path("", _refuse_unknown_path)]),  # type: ignore[arg-type]
        trusted=settings.TRUSTED_ORIGINS,
        https_only=settings.SESSION_COOKIE_SECURE,
        is_our_host=lambda host: validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS),
    )


async def _refuse_unknown_path(scope: dict[str, Any], receive: Any, send: Any) -> None:
    # The path is not logged: it may be anything that a client has written.
    log.warning("socket.unknown_path")
    await send({"type": "websocket.close"})


class SameOrigin:
    """Lets a socket in only from a page of our own: the exact origin it was served from, or one that is trusted.

    Wraps an ASGI application. `trusted` are whole origins; `https_only` where the service is behind HTTPS.
    """

    def __init__(
        self,
        inner: Callable[..., Awaitable[None]],
        *,
        trusted: list[str],
        https_only: bool,
        is_our_host: Callable[[str], bool],
    ) -> None:
        self._inner = inner
        self._trusted = frozenset(origin.rstrip("/").lower() for origin in trusted)
        self._https_only = https_only
        self._is_our_host = is_our_host

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if self._admits(dict(scope["headers"])):
            await self._inner(scope, receive, send)
        else:
            await send({"type": "websocket.close"})

    def _admits(self, headers: dict[bytes, bytes]) -> bool:
        origin = headers.get(b"origin", b"").decode("latin1").lower()
        host = headers.get(b"host", b"").decode("latin1").lower()
        if origin in self._trusted:
            return True
        return self._is_our_host(host) and is_own_origin(
            origin, host=host, trusted=(), https_only=self._https_only
        )
