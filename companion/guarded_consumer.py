"""What every socket does with an exception that nothing caught, and the codes that sockets are closed with."""

import logging
from abc import ABC, abstractmethod
from typing import Any

from channels.consumer import AsyncConsumer
from channels.exceptions import StopConsumer

log = logging.getLogger(__name__)

SESSION_ENDED = 4401
NOT_ALLOWED = 4403
TOO_FAR_BEHIND = 4408
COME_BACK = 4503


class GuardedConsumer(AsyncConsumer, ABC):
    """A socket that an uncaught exception closes with COME_BACK: Daphne's own 1011 tells the page nothing."""

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler directly. The stock dispatch hops through the one database thread for every event."""
        try:
            await self.handle(message)
        except StopConsumer:
            raise
        except Exception as failure:
            await self.fail(failure)

    @abstractmethod
    async def handle(self, message: dict[str, Any]) -> None:
        """Handle one event of the socket. Raises StopConsumer at its end."""

    @abstractmethod
    async def close(self, code: int) -> None:
        """Send nothing more and close. Codes: 1000, 3000 to 4999."""

    async def fail(self, failure: Exception) -> None:
        """Log what was not caught, and close: the page comes back."""
        log.error(
            "socket.failed path=%s cause=%s", self.scope["path"], type(failure).__name__, exc_info=failure
        )
        await self.close(COME_BACK)
