"""The open staff screens of one process: what they show is read once a round, however many there are.

A flag does not wait for the round: its notification has it read and sent at once. Rights are read again at every
round, and what a screen may no longer see is taken from it.
"""

import asyncio
import contextvars
import logging
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from psycopg_pool import AsyncConnectionPool

from companion.notifications import (
    FlagsChanged,
    MachinesChanged,
    Notification,
    StaffPausesChanged,
    WritingNoticed,
)
from companion.supervision.acts import StaffActs
from ops.access import StaffAccess
from ops.bucket import Bucket
from ops.socket_access import RIGHTS_CHANGED, StaffScreen, StaffSessions
from ops.supervision import frames, screens
from ops.supervision.flag_feed import FlagFeed, send_flags
from ops.supervision.people import WRITING_S
from ops.supervision.screen import ShownScreen, UserLimits
from ops.supervision.snapshot import DeskSnapshot, read_snapshot
from ops.supervision.watching import ConversationWatch

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
SOONEST_S = 0.2
"""The shortest time between two rounds, however many acts ask for one."""
ROUND_TIMEOUT_S = 5.0
LEASE_ROUNDS = 2
"""Rounds between two renewals of take-overs."""
MAX_SCREENS_PER_USER = 20
MAX_WATCHED_PER_SCREEN = 20
ACTS_BURST = 60
ACTS_PER_S = 10
"""Frames of one member of staff, over all of their screens, that are acted on."""


class LiveDesk:
    """The screens of one process. Reads only while there are some."""

    def __init__(
        self, pool: AsyncConnectionPool[Any], sessions: StaffSessions, acts: StaffActs, *, process: UUID
    ) -> None:
        self.acts = acts
        self.pool = pool
        self._sessions = sessions
        self._process = process
        self._shown: dict[StaffScreen, ShownScreen] = {}
        self._limits: dict[int, UserLimits] = {}
        self._snapshot = DeskSnapshot()
        self._reading = asyncio.Lock()
        self._flag_feed = FlagFeed(pool, self._shown)
        self._writing: dict[int, tuple[float, str | None]] = {}
        """Conversations that are typed in: until when, and the `last_at` of the message before."""
        self._wake = asyncio.Event()
        self._round_soon = False
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._shown)

    async def admit(self, session_key: str | None) -> StaffAccess | None:
        """What the user of this session may see now; None unless they are active staff. Raises psycopg.Error."""
        return await self._sessions.admit(session_key)

    def has_room(self, user: int | None) -> bool:
        """Whether this person may open one more screen here."""
        counts = Counter(shown.access.user for shown in self._shown.values())
        return counts[user] < MAX_SCREENS_PER_USER

    def limits_of(self, user: int) -> UserLimits:
        """The bounds of this person, shared by their screens."""
        if user not in self._limits:
            now = asyncio.get_running_loop().time()
            self._limits[user] = UserLimits(Bucket(capacity=ACTS_BURST, per_s=ACTS_PER_S, now=now))
        return self._limits[user]

    def access_of(self, screen: StaffScreen) -> StaffAccess | None:
        """What the screen may see, as it was last read."""
        shown = self._shown.get(screen)
        return shown.access if shown else None

    async def add(self, screen: StaffScreen, access: StaffAccess) -> None:
        """Send `hello`, and then what changes. Raises psycopg.Error."""
        # Subscribe first, then read: a flag in between is sent after the hello.
        shown = self._shown[screen] = ShownScreen(access=access)
        if self._task is None or self._task.done():
            # An empty context: it outlives the request that started it.
            self._task = asyncio.create_task(self._run(), context=contextvars.Context())
        self._flag_feed.start()
        snapshot = await self._fresh_snapshot(access.sites)
        async with self.pool.connection() as connection, connection.cursor() as cursor:
            colleagues = await screens.list_colleagues(cursor, access.sites)
            sites = await screens.list_sites(cursor, access.sites)
        shown.people, shown.flags = snapshot.people_for(access), snapshot.flags_for(access)
        shown.pauses, shown.reasons = snapshot.pauses_for(access), snapshot.reasons_for(access)
        shown.offers = snapshot.offers_for(access)
        await screen.send_frame(
            {
                "type": "hello",
                "v": frames.VERSION,
                "user": {"id": access.user, "name": access.name, "operator": access.is_operator},
                "people": list(shown.people.values()),
                "flags": list(shown.flags.values()),
                "pauses": shown.pauses,
                "reasons": shown.reasons,
                "offers": shown.offers,
                "sites": [{**site, "own": site["id"] in access.supervised} for site in sites],
                "colleagues": colleagues,
            }
        )
        shown.has_hello = True

    def remove(self, screen: StaffScreen) -> None:
        """Send the screen nothing more. A take-over that it showed has the time of its lease to come back."""
        shown = self._shown.pop(screen, None)
        if shown is None:
            return
        for watch in shown.watches.values():
            watch.close()
        if not any(other.access.user == shown.access.user for other in self._shown.values()):
            self._limits.pop(shown.access.user or 0, None)

    def watch(self, screen: StaffScreen, watch: ConversationWatch) -> bool:
        """Keep the watch of a screen until it ends. False: the screen is gone, or watches as many as it may."""
        shown = self._shown.get(screen)
        if shown is None or (
            watch.conversation not in shown.watches and len(shown.watches) >= MAX_WATCHED_PER_SCREEN
        ):
            return False
        self.unwatch(screen, watch.conversation)
        shown.watches[watch.conversation] = watch
        self._round_soon = True
        self._wake.set()
        return True

    def unwatch(self, screen: StaffScreen, conversation: int) -> bool:
        """End a watch. False: there was none."""
        shown = self._shown.get(screen)
        watch = shown.watches.pop(conversation, None) if shown else None
        if watch is not None:
            watch.close()
        return watch is not None

    def on_notification(self, notification: Notification) -> None:
        """Read and send what a notification names, without waiting for the next round."""
        if not self._shown:
            return
        match notification:
            case FlagsChanged():
                self._flag_feed.note_changed(flag for flag, _ in notification.flags)
                return
            case StaffPausesChanged() | MachinesChanged():
                self._round_soon = True
            case WritingNoticed(staff=None):
                self._mark_writing(notification.writing)
                return
            case _:
                return
        self._wake.set()

    def _mark_writing(self, conversation: int) -> None:
        """Show from the next round on, and for some seconds, that the participant is typing."""
        last_at = self._snapshot.people.get(conversation, {}).get("last_at")
        self._writing[conversation] = (asyncio.get_running_loop().time() + WRITING_S, last_at)

    async def close(self, code: int) -> None:
        """Close every screen's socket with this code, and stop reading."""
        await asyncio.gather(*(screen.close(code) for screen in list(self._shown)), return_exceptions=True)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._flag_feed.close()
        if not self.pool.closed:
            await screens.leave(self.pool, self._process)
            await self.pool.close(timeout=2)

    async def _run(self) -> None:
        while True:
            await self._run_rounds()
            await screens.leave(self.pool, self._process)
            # A screen that was opened meanwhile found this task running.
            if not self._shown:
                return

    async def _run_rounds(self) -> None:
        loop, rounds, due, began = asyncio.get_running_loop(), 0, 0.0, 0.0
        while self._shown:
            try:
                async with asyncio.timeout(ROUND_TIMEOUT_S):
                    if self._round_soon:
                        due = min(due, began + SOONEST_S)
                    if loop.time() >= due:
                        began, self._round_soon = loop.time(), False
                        due = began + INTERVAL_S
                        await self._run_round(renews=rounds % LEASE_ROUNDS == 0)
                        rounds += 1
            except Exception as failure:
                # Send nothing: the page notices it. The rounds go on after any failure: without them no right ends.
                log.warning("desk.cannot_read screens=%d cause=%s", len(self._shown), type(failure).__name__)
                await asyncio.sleep(0.2)
            await self._sleep_until(due)

    async def _sleep_until(self, due: float) -> None:
        """Wait for the next round, or for a notification."""
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _run_round(self, *, renews: bool) -> None:
        await self._recheck_access()
        sites = self._all_sites()
        await self._read(sites)
        if renews:
            await self._renew_leases()
        for screen, shown in list(self._shown.items()):
            if shown.has_hello:
                await self._send_changes(screen, shown)

    def _all_sites(self) -> frozenset[int]:
        return frozenset().union(*(shown.access.sites for shown in self._shown.values()))

    async def _fresh_snapshot(self, sites: Collection[int]) -> DeskSnapshot:
        """The last snapshot if it is of this moment and has these sites; else a new one, shared by who waits for it."""
        async with self._reading:
            now = asyncio.get_running_loop().time()
            if self._snapshot.sites >= frozenset(sites) and now - self._snapshot.at_s < INTERVAL_S / 2:
                return self._snapshot
        return await self._read(self._all_sites() | frozenset(sites))

    async def _read(self, sites: Collection[int]) -> DeskSnapshot:
        now = asyncio.get_running_loop().time()
        self._writing = {number: mark for number, mark in self._writing.items() if mark[0] > now}
        writing = {number: last_at for number, (_, last_at) in self._writing.items()}
        async with self._reading, self.pool.connection() as connection:
            async with connection.cursor() as cursor:
                await screens.write_desk(
                    cursor, self._process, sites=self._own_sites(), readers=self._readers()
                )
            self._snapshot = await read_snapshot(
                connection, sites, before=self._snapshot, writing=writing, at_s=now
            )
        return self._snapshot

    def _own_sites(self) -> frozenset[int]:
        return frozenset().union(*(shown.access.supervised for shown in self._shown.values()))

    def _readers(self) -> set[tuple[int, int, str]]:
        return {
            (conversation, shown.access.user or 0, shown.access.name)
            for shown in self._shown.values()
            for conversation in shown.watches
        }

    async def _send_changes(self, screen: StaffScreen, shown: ShownScreen) -> None:
        snapshot, access = self._snapshot, shown.access
        people = snapshot.people_for(access)
        changed = [item for number, item in people.items() if shown.people.get(number) is not item]
        gone = shown.people.keys() - people.keys()
        shown.people = people
        if changed or gone:
            await screen.send_frame(frames.people(changed, gone))
        # A flag that was sent after this round had begun to read is newer than what the round read.
        newer = self._flag_feed.list_sent_since(snapshot.at_s)
        flags = {number: flag for number, flag in snapshot.flags_for(access).items() if number not in newer}
        await send_flags(screen, shown, flags)
        # Flags that are not listed any more are closed. Those of a site that was withdrawn go with the page.
        closed = [number for number in shown.flags if number not in snapshot.flags and number not in newer]
        for number in closed:
            del shown.flags[number]
            await screen.send_frame(frames.closed_flag(number))
        for name, listed in (
            ("pauses", snapshot.pauses_for(access)),
            ("reasons", snapshot.reasons_for(access)),
            ("offers", snapshot.offers_for(access)),
        ):
            if listed != getattr(shown, name):
                setattr(shown, name, listed)
                await screen.send_frame({"type": name, name: listed})

    async def _recheck_access(self) -> None:
        """Rights end within a second of a sign-out, a withdrawal or the loss of a site, and take-overs with them."""
        # A screen that opens while the rights are read has just been admitted, and is none of those that are read.
        checked = list(self._shown.items())
        current = await self._sessions.get_access({screen.session_key for screen, _ in checked})
        lost: dict[int, set[int]] = {}
        for screen, shown in checked:
            if screen not in self._shown:
                continue
            access = current.get(screen.session_key)
            user = shown.access.user or 0
            if access is None:
                lost.setdefault(user, set()).update(shown.watches)
                await screen.deny()
                continue
            if access != shown.access:
                await screen.send_frame(RIGHTS_CHANGED)
                for number, watch in list(shown.watches.items()):
                    if watch.site not in access.sites or (
                        watch.site not in access.supervised and not watch.by_reason
                    ):
                        lost.setdefault(user, set()).add(number)
                        self.unwatch(screen, number)
            shown.access = access
        await self._end_reasoned_watches()
        for user, conversations in lost.items():
            await self._lose(user, conversations)

    async def _end_reasoned_watches(self) -> None:
        """End the reading along of an operator whose hour is over."""
        now = asyncio.get_running_loop().time()
        for screen, shown in list(self._shown.items()):
            for number, watch in list(shown.watches.items()):
                if watch.ends_at_s is not None and now >= watch.ends_at_s:
                    self.unwatch(screen, number)
                    await screen.send_frame({"type": "unwatched", "conversation": number})

    async def _lose(self, user: int, conversations: Iterable[int]) -> None:
        """End the take-overs of a person who was signed out, where no other screen of theirs shows them."""
        here = {
            number for shown in self._shown.values() if shown.access.user == user for number in shown.watches
        }
        async with self.pool.connection() as connection, connection.cursor() as cursor:
            # Written before the others are read: of two processes that lose a person at once, one sees no other.
            await screens.write_desk(cursor, self._process, sites=self._own_sites(), readers=self._readers())
            elsewhere = await screens.read_elsewhere(cursor, self._process, user)
        if gone := set(conversations) - here - elsewhere:
            await self.acts.lose(user, gone)

    async def _renew_leases(self) -> None:
        """Renew the take-overs of the people whose screens show them."""
        leases: dict[int, set[int]] = {}
        for shown in self._shown.values():
            if shown.watches and shown.access.user is not None:
                leases.setdefault(shown.access.user, set()).update(shown.watches)
        if leases:
            await self.acts.renew(leases)
