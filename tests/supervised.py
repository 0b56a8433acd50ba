"""What tests of supervision do to a conversation, in the database, as a process with screens of staff would."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncCursor

from companion.doorbell import notify_turns_changed
from companion.notifications import NOTIFY, FlagsChanged, StaffPausesChanged, notify_parameters
from companion.supervision import quiet, take_overs
from companion.supervision.causes import FlagCause
from companion.supervision.control import notify_control_changed
from companion.supervision.entries import NewEntry, insert_entry
from companion.supervision.flags import raise_flag
from companion.supervision.seizure import LiveTurnsBusy
from companion.supervision.states import EntryKind, FlagSource, FlagTier
from companion.supervision.take_overs import HeldBy, TookOver
from companion.waiting_room import GateResult
from ops.project.wiring.turns import build_turn_policy
from ops.stack.postgres import EmbeddedPostgres
from tests.people import Person

Result = TypeVar("Result")
SAM, JO = 101, 102


class Supervisor:
    """A member of staff of a person's site, with a connection of their own."""

    def __init__(self, url: str, person: Person, *, staff: int = SAM, name: str = "Sam") -> None:
        self._url = url
        self.conversation = person.conversation.pk
        self.site = person.row.site_id
        self.staff = staff
        self.name = name
        self.process = uuid.uuid4()
        self.policy = build_turn_policy()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Supervisor":
        connecting = psycopg.AsyncConnection.connect(self._url, autocommit=True)
        self.connection: psycopg.AsyncConnection[Any] = await self._stack.enter_async_context(
            await connecting
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def act(self, call: Callable[[AsyncCursor[Any]], Awaitable[Result]]) -> Result:
        """Run a call in one transaction, again while live turns are busy, and notify of the control row."""
        while True:
            try:
                async with self.connection.transaction(), self.connection.cursor() as cursor:
                    result = await call(cursor)
                    await notify_control_changed(cursor, by=self.process, conversations=[self.conversation])
                return result
            except LiveTurnsBusy:
                continue

    async def take_over(self) -> TookOver | HeldBy | None:
        """Speak instead of the companion."""

        async def take_over(cursor: AsyncCursor[Any]) -> TookOver | HeldBy | None:
            taken = await take_overs.take_over(
                cursor,
                self.policy,
                conversation=self.conversation,
                staff=self.staff,
                name=self.name,
                sites=[self.site],
            )
            if isinstance(taken, TookOver):
                result = GateResult(admitted=[], lost=list(taken.closed))
                await notify_turns_changed(cursor, by=self.process, result=result)
            return taken

        return await self.act(take_over)

    async def hand_back(self) -> int | None:
        """Let the companion speak again."""
        return await self.act(
            lambda cursor: take_overs.hand_back(
                cursor, self.policy, conversation=self.conversation, staff=self.staff
            )
        )

    async def release(self) -> bool:
        """End a quiet spell."""
        return await self.act(
            lambda cursor: quiet.release(cursor, conversation=self.conversation, sites=[self.site])
        )

    async def say(self, text: str) -> int:
        """Write to the participant."""

        async def say(cursor: AsyncCursor[Any]) -> int:
            name = await take_overs.lock_as_person(cursor, conversation=self.conversation, staff=self.staff)
            assert name is not None
            entry = NewEntry(
                conversation=self.conversation,
                kind=EntryKind.SAID,
                text=text,
                key=uuid.uuid4(),
                person=self.staff,
                name=name,
            )
            stored = await insert_entry(cursor, entry)
            assert stored is not None
            return stored.entry

        return await self.act(say)

    async def pause(self, scope: str, about: int) -> None:
        """Pause the companion for a person, a site or everyone."""
        async with self.connection.transaction():
            await self.connection.execute(
                "INSERT INTO companion_staffpause (scope, about, reason, by_name) VALUES (%s, %s, 'a test', %s)",
                (scope, about, self.name),
            )
            await self.connection.execute(NOTIFY, notify_parameters(StaffPausesChanged(pauses=True)))

    async def resume(self, scope: str, about: int) -> None:
        """End the pause."""
        async with self.connection.transaction():
            await self.connection.execute(
                "UPDATE companion_staffpause SET ended_at = clock_timestamp(), ended_by_name = %s "
                "WHERE scope = %s AND about = %s AND ended_at IS NULL",
                (self.name, scope, about),
            )
            await self.connection.execute(NOTIFY, notify_parameters(StaffPausesChanged(pauses=True)))


@asynccontextmanager
async def listen_for_flag(database: EmbeddedPostgres) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Yields what waits until a flag has been committed, as its notification says."""
    connecting = psycopg.AsyncConnection.connect(database.url, autocommit=True)
    async with await connecting as listener:
        await listener.execute("LISTEN companion")

        async def until_stored() -> None:
            async with asyncio.timeout(20):
                async for notify in listener.notifies():
                    if '"flags"' in notify.payload:
                        return

        yield until_stored


async def ring(database: EmbeddedPostgres, person: Person, *, kind: str = "self_harm") -> int:
    """Raise a red flag as the process of a participant does."""
    async with Supervisor(database.url, person) as one:
        return await ring_over(one, kind=kind)


async def ring_over(one: Supervisor, *, kind: str) -> int:
    """Raise a red flag over an open connection."""
    cause = FlagCause(conversation=one.conversation, tier=FlagTier.RED, kind=kind, source=FlagSource.MESSAGE)
    async with one.connection.transaction(), one.connection.cursor() as cursor:
        raised = await raise_flag(cursor, cause)
        assert raised is not None
        changed = FlagsChanged(flags=((raised.flag, raised.site),))
        await cursor.execute(NOTIFY, notify_parameters(changed))
    return raised.flag
