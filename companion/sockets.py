"""The WebSocket URLs, and the check of a socket's origin."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from channels.routing import URLRouter
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.urls import URLPattern, path, re_path

from companion.consumers import ChatConsumer, ChatService
from companion.same_origin import is_own_origin

log = logging.getLogger(__name__)


def build_socket_application(
    service: Callable[[], ChatService], *extra_routes: URLPattern
) -> "SameOriginMiddleware":
    """Build the ASGI application for every WebSocket. `service` is called at each connect."""
    chat = ChatConsumer.as_asgi(service=service, cookie_name=settings.SESSION_COOKIE_NAME)
    return SameOriginMiddleware(
        URLRouter([path("ws/chat/", chat), *extra_routes, re_path("", _refuse_unknown_path)]),  # type: ignore[arg-type]
        trusted=settings.TRUSTED_ORIGINS,
        https_only=settings.SESSION_COOKIE_SECURE,
        is_own_host=lambda host: validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS),
    )


async def _refuse_unknown_path(scope: dict[str, Any], receive: Any, send: Any) -> None:
    # The path is not logged: a client chooses it.
    log.warning("socket.unknown_path")
    await send({"type": "websocket.close"})


class SameOriginMiddleware:
    """Accepts a socket only from the exact origin of this service, or from one that is trusted.

    Wraps an ASGI application. `trusted` are whole origins; `https_only` where the service is behind HTTPS.
    """

    def __init__(
        self,
        inner: Callable[..., Awaitable[None]],
        *,
        trusted: list[str],
        https_only: bool,
        is_own_host: Callable[[str], bool],
    ) -> None:
        self._inner = inner
        self._trusted = frozenset(origin.rstrip("/").lower() for origin in trusted)
        self._https_only = https_only
        self._is_own_host = is_own_host

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if self._is_allowed(dict(scope["headers"])):
            await self._inner(scope, receive, send)
        else:
            await send({"type": "websocket.close"})

    def _is_allowed(self, headers: dict[bytes, bytes]) -> bool:
        origin = headers.get(b"origin", b"").decode("latin1").lower()
        host = headers.get(b"host", b"").decode("latin1").lower()
        if origin in self._trusted:
            return True
        return self._is_own_host(host) and is_own_origin(
            origin, host=host, trusted=(), https_only=self._https_only
        )
