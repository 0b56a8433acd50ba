"""The socket of the desk, `/ws/staff/`: who is here, what rings, and what staff do about it."""

from collections.abc import Callable

from companion.guarded_consumer import NOT_ALLOWED
from ops.access import StaffAccess
from ops.staff.staff_socket import StaffSocket
from ops.supervision import frames
from ops.supervision.acting import DeskActs
from ops.supervision.desk import LiveDesk
from ops.supervision.sentences import explain


class DeskConsumer(StaffSocket):
    """One open screen of a member of staff. Every frame is handled by `DeskActs`."""

    def __init__(self, desk: Callable[[], tuple[LiveDesk, DeskActs]], cookie_name: str) -> None:
        super().__init__(cookie_name)
        self._desk, self._acts = desk()

    async def admit(self, key: str | None) -> StaffAccess | None:
        """What the user of this session may see."""
        return await self._desk.admit(key)

    async def open(self, access: StaffAccess) -> None:
        """Add this screen to the desk, unless its user has too many."""
        if not self._desk.has_room(access.user):
            await self.send_frame(frames.problem("too_many_screens", explain("too_many_screens"), {}))
            await self.close(NOT_ALLOWED)
            return
        await self._desk.add(self, access)

    async def receive(self, text: str | None) -> None:
        """Handle one frame."""
        await self._acts.receive(self, text)

    def leave(self) -> None:
        """Remove this screen from the desk."""
        self._desk.remove(self)
