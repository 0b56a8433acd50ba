"""HTTP that one client cannot fill: bodies, the time of a request and connections are bounded, with or without a proxy.

The bounds lie in the channel, so that a request beyond them reaches neither Django nor a thread.
"""

import time
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from twisted.web.http import HTTPChannel

from ops.project.callers import Callers

MAX_BODY_BYTES = 262_144
REQUEST_LIMIT_S = 30.0
"""From the first byte of a request to its last."""
LINGER_S = 3.0
"""How long a refused client is read on, unheard: it could not read the answer from a connection that was reset."""

# Twisted leaves most of its channel untyped.
Channel: Any = HTTPChannel

TOO_LARGE = b"413 Content Too Large"
TOO_SLOW = b"408 Request Timeout"


class BoundedRequest(WebRequest):
    """Daphne's request without its trust in headers of a caller, and with a bounded body."""

    _body_bytes = 0

    def __repr__(self) -> str:
        # Daphne logs a request that it gives up, and an address may hold a card.
        return f"<{type(self).__name__} at 0x{id(self):x}>"

    def handleContentChunk(self, data: bytes) -> None:
        self._body_bytes += len(data)
        if self._body_bytes > MAX_BODY_BYTES:
            self.channel.refuse(TOO_LARGE)
        else:
            super().handleContentChunk(data)

    def process(self) -> Any:
        # Daphne would take this header of any caller as the mount point of the service.
        self.requestHeaders.removeHeader(b"daphne-root-path")
        if [one.lower() for one in self.requestHeaders.getRawHeaders(b"upgrade", [])[:1]] == [b"websocket"]:
            self.channel.callers.upgrade(self.channel.transport)
        return super().process()

    def handle_reply(self, message: dict[str, Any]) -> None:
        # The answer to HEAD has no body. Django sends one, and Daphne writes all but its first part: a client would
        # read a page longer than 64 KiB as the answer to its next request on this connection.
        if self.method == b"HEAD" and message.get("type") == "http.response.body":
            message = {**message, "body": b""}
        super().handle_reply(message)


class BoundedChannel(Channel):
    """One connection: refuses bodies above MAX_BODY_BYTES with 413 and requests above REQUEST_LIMIT_S with 408."""

    requestFactory = BoundedRequest

    def __init__(self, callers: Callers) -> None:
        super().__init__()
        self.callers = callers
        self._request_since: float | None = None
        self._refused_at: float | None = None

    def connectionMade(self) -> None:
        super().connectionMade()
        self.callers.enter(self.transport, self.transport.getPeer().host, self)

    def connectionLost(self, reason: Any) -> None:
        self.callers.leave(self.transport)
        super().connectionLost(reason)

    def dataReceived(self, data: bytes) -> None:
        if self._refused_at is None:
            if self._request_since is None and not self._handlingRequest:
                self._request_since = time.monotonic()
            super().dataReceived(data)

    def lineReceived(self, line: bytes) -> None:
        if self._refused_at is None:
            super().lineReceived(line)

    def rawDataReceived(self, data: bytes) -> None:
        if self._refused_at is None:
            super().rawDataReceived(data)

    def allHeadersReceived(self) -> None:
        if self.length is not None and self.length > MAX_BODY_BYTES:
            self.refuse(TOO_LARGE)
        else:
            super().allHeadersReceived()

    def allContentReceived(self) -> None:
        if self._refused_at is None:
            self._request_since = None
            super().allContentReceived()

    def check_deadline(self, now: float) -> None:
        """Called every second."""
        if self._refused_at is not None:
            if now - self._refused_at > LINGER_S:
                self.transport.abortConnection()
        elif self._request_since is not None and now - self._request_since > REQUEST_LIMIT_S:
            self.refuse(TOO_SLOW)

    def refuse(self, status: bytes) -> None:
        """Answer with `status`, close our side, and read what still comes for a moment without keeping it."""
        if self._refused_at is None:
            self._refused_at = time.monotonic()
            self.setTimeout(None)
            self.transport.write(
                b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
            self.transport.loseWriteConnection()


class BoundedFactory(HTTPFactory):
    """Builds the channels of one process, as far as `callers` has room."""

    def __init__(self, server: Any, callers: Callers) -> None:
        super().__init__(server)
        self._callers = callers

    def buildProtocol(self, addr: Any) -> BoundedChannel | None:
        if not self._callers.has_room(addr.host):
            return None
        channel = BoundedChannel(self._callers)
        channel.factory = self
        channel.timeOut = self.timeOut
        return channel
