"""One conversation on one staff screen: the frames that its participant gets, half answers included, as they happen."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from companion.history import History, HistoryPage
from companion.outbox import Outbox
from companion.supervision.control import ControlView
from companion.watchers import Watchers

SendFrame = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedPage:
    """What a watch begins with: the last turns and entries, and who may speak."""

    page: HistoryPage
    control: ControlView


class ConversationWatch:
    """Reads along until it is closed. It is no page of the participant: it keeps no place in line.

    `by_reason`: an operator reads with a stated reason, until `ends_at_s` on the clock of the event loop.
    """

    def __init__(
        self,
        send: SendFrame,
        *,
        conversation: int,
        site: int,
        history: History,
        watchers: Watchers,
        ends_at_s: float | None = None,
    ) -> None:
        self.conversation = conversation
        self.site = site
        self.ends_at_s = ends_at_s
        self._send = send
        self._history = history
        self._watchers = watchers
        self._outbox = Outbox(self._send_frame, history, conversation=conversation, is_page=False)

    @property
    def by_reason(self) -> bool:
        """Whether an operator reads with a stated reason."""
        return self.ends_at_s is not None

    async def read(self) -> WatchedPage:
        """Subscribe, and read the last turns and entries. Raises psycopg.Error."""
        # Subscribe first: events in between wait in the outbox.
        self._watchers.watch(self._outbox)
        page = await self._history.read_latest_whole(self.conversation)
        control = await self._history.read_control(self.conversation)
        return WatchedPage(page=page, control=control)

    async def start(self, read: WatchedPage, facts: dict[str, Any]) -> None:
        """Send `watched`, what was read with `facts`, and then what happens."""
        page, control = read.page, read.control
        await self._send(
            {
                "type": "watched",
                "conversation": self.conversation,
                **facts,
                "turns": page.to_items(),
                "earlier": page.has_earlier,
                "person": control.to_person(),
                "quiet": control.is_quiet,
                "paused": control.is_paused,
            }
        )
        self._outbox.start(page.views, last_entry=page.last_entry)
        self._watchers.follow(page.views)
        self._watchers.mark_entries_changed([self.conversation])

    def close(self) -> None:
        """Send nothing more of this conversation."""
        self._watchers.unwatch(self._outbox)

    async def _send_frame(self, frame: dict[str, Any]) -> None:
        frame = {**frame, "conversation": self.conversation}
        if frame["type"] == "accepted":
            # The participant's page has the words already; staff have not.
            views = await self._history.read_turns([frame["turn"]])
            frame["question"] = views[0].question if views else ""
        await self._send(frame)
