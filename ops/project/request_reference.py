"""Gives every request and every socket a reference, which its log lines name and its answer carries."""

import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from companion.log_references import bind_references

HEADER = b"x-request-id"
FROM_PROXY = re.compile(rb"[0-9a-f]{32}")
"""As nginx writes `$request_id`. Anything else would be a text that a caller chose."""

Application = Callable[..., Awaitable[Any]]


class ReferencedRequests:
    """The ASGI application. `is_behind_proxy`: the header `X-Request-ID` is set by a proxy, and is believed."""

    def __init__(self, application: Application, *, is_behind_proxy: bool) -> None:
        self._application = application
        self._is_behind_proxy = is_behind_proxy

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        reference = self._choose(scope)
        bind_references(request=reference)
        if scope["type"] != "http":
            # The frames of a socket pass as they are: this is the path of a word.
            await self._application(scope, receive, send)
            return

        async def send_with_reference(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (HEADER, reference.encode())]
                message = {**message, "headers": headers}
            await send(message)

        await self._application(scope, receive, send_with_reference)

    def _choose(self, scope: dict[str, Any]) -> str:
        given = dict(scope["headers"]).get(HEADER, b"") if self._is_behind_proxy else b""
        return given.decode() if FROM_PROXY.fullmatch(given) else uuid.uuid4().hex
