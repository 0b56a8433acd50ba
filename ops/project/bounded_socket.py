"""A WebSocket that one client cannot fill: what it sends is paced and counted before it is parsed, and what it does
not read is bounded.

Reading stops at the transport, so that what is too much waits in the client's own memory. The application's queue
never holds more than a few frames, and control frames count like all others.
"""

import asyncio
import logging
import math
import time
from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer  # type: ignore[import-untyped]

from companion.guarded_consumer import TOO_FAR_BEHIND
from ops.bucket import Bucket

log = logging.getLogger(__name__)

BURST_FRAMES = 240
FRAMES_PER_S = 30
"""A page sends a ping every few seconds and an acknowledgement for every 20 chunks: about one frame a second."""
BURST_BYTES = 524_288
BYTES_PER_S = 65_536
MAX_QUEUED_FRAMES = 8
MAX_QUEUED_BYTES = 131_072
"""What the application may have before it when another frame is parsed."""
FRAMES_IN_A_ROW = 16
"""Frames that are parsed before other sockets have their turn."""
QUEUE_POLL_S = 0.02
FLOOD_LIMIT_S = 10.0
"""A client that is above its pace for so long is closed."""
MAX_UNSENT_BYTES = 1_048_576
"""What may be written for a client that does not read, beyond what the transport holds already."""
UNSENT_LIMIT_S = 30.0


@implementer(IPushProducer)
class SendGauge:
    """Told by the transport when a client does not take what is written, and when it has taken all of it."""

    def __init__(self, socket: "BoundedSocket") -> None:
        self._socket = socket

    def pauseProducing(self) -> None:
        self._socket.block()

    def resumeProducing(self) -> None:
        self._socket.unblock()

    def stopProducing(self) -> None:
        """Nothing: the end of the connection is told to the protocol itself."""


class BoundedSocket(WebSocketProtocol):
    """Daphne's WebSocket with bounds in both directions; closes with 4408 once a client is far beyond them."""

    maxMessagePayloadSize: int
    """Autobahn's: bytes of one message, in either direction; 0: not bounded."""

    def __init__(self) -> None:
        super().__init__()
        now = time.monotonic()
        self._frames = Bucket(capacity=BURST_FRAMES, per_s=FRAMES_PER_S, now=now)
        self._bytes = Bucket(capacity=BURST_BYTES, per_s=BYTES_PER_S, now=now)
        self._in_a_row = 0
        self._queued_bytes = 0
        self._paced_since: float | None = None
        self._blocked_since: float | None = None
        self._unsent_bytes = 0
        self._is_paused = False
        self._is_too_far = False
        self._continuation: asyncio.TimerHandle | None = None

    def onConnect(self, request: Any) -> Any:
        # The HTTP channel of the handshake is still registered; it would never resume.
        self.transport.unregisterProducer()
        self.transport.registerProducer(SendGauge(self), True)
        return super().onConnect(request)

    def dataReceived(self, data: bytes) -> None:
        if self.state == self.STATE_OPEN:
            now = time.monotonic()
            if self._paced_since is not None and self._frames.is_calm(now) and self._bytes.is_calm(now):
                self._paced_since = None
            self._bytes.spend(len(data), now)
        super().dataReceived(data)

    def onFrameEnd(self) -> Any:
        self._in_a_row += 1
        if self.state == self.STATE_OPEN:
            self._frames.spend(1, time.monotonic())
        return super().onFrameEnd()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        queue = self.application_queue
        # An empty queue means that the application has taken everything, so the count starts again.
        self._queued_bytes = len(payload) + (self._queued_bytes if queue.qsize() else 0)
        super().onMessage(payload, isBinary)

    def consumeData(self) -> None:
        """Parse what has been received for as long as this client may be served, then rest."""
        if self.state not in (self.STATE_OPEN, self.STATE_CLOSING):
            super().consumeData()
            return
        while self.state != self.STATE_CLOSED:
            wait_s = self._wait_s()
            if wait_s is not None:
                self._rest(wait_s)
                return
            if not self.processData():
                break
        self._in_a_row = 0
        wait_s = self._wait_s()
        if wait_s is not None:
            self._rest(wait_s)
        elif self._is_paused:
            self._is_paused = False
            self.transport.resumeProducing()

    def sendMessage(self, payload: bytes, *arguments: Any, **options: Any) -> None:
        if self.state != self.STATE_OPEN:
            # The application hears of the end with its next event.
            return
        # Counted only while blocked: otherwise the transport passes everything on at once.
        if self._blocked_since is not None:
            self._unsent_bytes += len(payload)
            if self._unsent_bytes > MAX_UNSENT_BYTES:
                self._close_too_far("unsent_bytes")
        # Autobahn holds what is sent to the bound of what is received, and a desk of many people is larger.
        bound, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().sendMessage(payload, *arguments, **options)
        finally:
            self.maxMessagePayloadSize = bound

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        """Send at once if nothing waits before it. Through the reactor a frame costs three system calls more."""
        if self.state == self.STATE_OPEN and not (sync or chopsize or self.send_queue) and self._is_idle():
            sent = self.transport.writeSomeData(data)
            # A connection that is lost is left to the reactor, which reports it.
            data = data[sent:] if isinstance(sent, int) else data
        if data:
            super().sendData(data, sync, chopsize)

    def _is_idle(self) -> bool:
        transport = self.transport
        # There is no public way to ask whether a transport holds unsent bytes.
        is_empty = not (transport.dataBuffer or transport._tempDataLen)
        return bool(is_empty and transport.connected and not transport.disconnecting and not transport.TLS)

    def block(self) -> None:
        """The client does not take what is written for it: it is asked nothing more until it does."""
        if self._blocked_since is None:
            self._blocked_since = time.monotonic()
            self._pause()

    def unblock(self) -> None:
        """Everything that was written has left."""
        self._blocked_since, self._unsent_bytes = None, 0
        if self.transport.disconnecting:
            # A registered producer would keep the transport from closing.
            self.transport.unregisterProducer()
        elif self._is_paused:
            self._go_on()

    def check_timeouts(self) -> None:
        super().check_timeouts()
        if self._blocked_since is not None and time.monotonic() - self._blocked_since > UNSENT_LIMIT_S:
            self._close_too_far("unsent")

    def connectionLost(self, reason: Any = None) -> None:
        self._cancel_continuation()
        self.factory.callers.leave(self.transport)
        super().connectionLost(reason)

    def _wait_s(self) -> float | None:
        """Seconds until another frame may be parsed, `inf` while the client does not read; None: now."""
        if self._in_a_row >= FRAMES_IN_A_ROW:
            return 0.0
        if self.state != self.STATE_OPEN:
            # What still comes is dropped by the parser, which waits for the answer to a close frame.
            return None
        now = time.monotonic()
        if self._blocked_since is not None:
            # The transport tells when this is over.
            return math.inf
        pace_s = max(self._frames.wait_s(now), self._bytes.wait_s(now))
        if pace_s > 0:
            if self._paced_since is None:
                self._paced_since = now
            elif now - self._paced_since > FLOOD_LIMIT_S:
                self._close_too_far("flood")
                return 0.0
            return pace_s
        queued = self.application_queue.qsize()
        if queued >= MAX_QUEUED_FRAMES or (queued and self._queued_bytes >= MAX_QUEUED_BYTES):
            return QUEUE_POLL_S
        return None

    def _rest(self, wait_s: float) -> None:
        self._pause()
        if self._continuation is None and wait_s < math.inf:
            self._continuation = asyncio.get_running_loop().call_later(wait_s, self._go_on)

    def _go_on(self) -> None:
        self._cancel_continuation()
        self._in_a_row = 0
        self.consumeData()

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self.transport.pauseProducing()

    def _cancel_continuation(self) -> None:
        call, self._continuation = self._continuation, None
        if call is not None:
            call.cancel()

    def _close_too_far(self, cause: str) -> None:
        if not self._is_too_far:
            self._is_too_far = True
            log.warning("socket.too_far_behind cause=%s unsent_bytes=%d", cause, self._unsent_bytes)
            self.serverClose(code=TOO_FAR_BEHIND)
