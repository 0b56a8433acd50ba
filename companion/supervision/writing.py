"""Shows, on the sockets of one process, that the other side of a conversation is typing. Nothing of it is stored."""

import asyncio

import psycopg

from companion.history import History
from companion.notifications import WritingNoticed
from companion.outbox_events import WritingSeen
from companion.turn_policy import TurnPolicy
from companion.watchers import Watchers


class WritingRelay:
    """Of one process. The name of the person is read from the control row: a notification carries ids only."""

    def __init__(self, history: History, watchers: Watchers, policy: TurnPolicy) -> None:
        self._history = history
        self._watchers = watchers
        self._policy = policy
        # asyncio keeps weak references only.
        self._publishing: set[asyncio.Task[None]] = set()

    def note(self, noticed: WritingNoticed) -> None:
        """Publish it soon, if the conversation is watched here."""
        if self._watchers.is_watched(noticed.writing):
            self._publishing.add(task := asyncio.create_task(self._publish(noticed)))
            task.add_done_callback(self._publishing.discard)

    async def _publish(self, noticed: WritingNoticed) -> None:
        if noticed.staff is None:
            self._watchers.publish_writing(WritingSeen(conversation=noticed.writing))
            return
        try:
            control = await self._history.read_control(noticed.writing)
        except (psycopg.Error, TimeoutError):
            return  # The next key press notifies again.
        if control.person == noticed.staff:
            line = self._policy.in_language(control.language).lines.person_writing.format(name=control.name)
            self._watchers.publish_writing(WritingSeen(conversation=noticed.writing, line=line))
