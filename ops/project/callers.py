"""Who is connected to this process: how many connections from each network, and which requests take too long."""

import logging
import time
from collections import Counter
from typing import Protocol

from companion.client_address import client_network

log = logging.getLogger(__name__)


class TimedConnection(Protocol):
    """A connection that has not become a WebSocket."""

    def check_deadline(self, now: float) -> None:
        """Close it if its request is overdue. `now` is monotonic."""


class Callers:
    """The open connections of one process. `per_address` is None behind a proxy, where all have one address."""

    def __init__(self, *, per_address: int | None, total: int) -> None:
        self._per_address = per_address
        self._total = total
        self._address_of: dict[object, str] = {}
        self._from_address: Counter[str] = Counter()
        self._requests: dict[object, TimedConnection] = {}

    def __len__(self) -> int:
        return len(self._address_of)

    def has_room(self, host: str) -> bool:
        """Whether one more connection from `host` may be served."""
        if len(self._address_of) >= self._total:
            log.error("web.too_many_connections total=%d", len(self._address_of))
            return False
        address = client_network(host)
        if self._per_address is not None and self._from_address[address] >= self._per_address:
            log.warning(
                "web.too_many_connections_from_one_address connections=%d", self._from_address[address]
            )
            return False
        return True

    def enter(self, transport: object, host: str, caller: TimedConnection) -> None:
        """A connection has been made."""
        address = client_network(host)
        self._address_of[transport] = address
        self._from_address[address] += 1
        self._requests[transport] = caller

    def upgrade(self, transport: object) -> None:
        """A connection has become a WebSocket: no request is awaited on it any more."""
        self._requests.pop(transport, None)

    def leave(self, transport: object) -> None:
        """A connection has ended."""
        self._requests.pop(transport, None)
        address = self._address_of.pop(transport, None)
        if address is not None:
            self._from_address[address] -= 1
            if not self._from_address[address]:
                del self._from_address[address]

    def check_deadlines(self) -> None:
        """Close what is overdue."""
        now = time.monotonic()
        for caller in list(self._requests.values()):
            caller.check_deadline(now)
