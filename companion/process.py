"""One web process of the companion: its turns, its sockets, and its background loops."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.access import VisitAccess
from companion.breakers import SharedBreakers
from companion.consumers import SocketRegistry
from companion.doorbell import Doorbell
from companion.draining import Draining
from companion.engine import LaneCaller
from companion.heartbeat import Heartbeat, ServedRouting, describe_routing
from companion.history import History
from companion.journal import Journal
from companion.lane_follower import LaneFollower
from companion.lane_order import order_lanes
from companion.ledger import Ledger
from companion.notification_handler import NotificationHandler
from companion.notifications import Notification
from companion.runner import Runner
from companion.supervision.helplines import HelpAnswer
from companion.supervision.lease_follower import LeaseFollower
from companion.supervision.noticing import Noticing
from companion.supervision.pause_follower import PauseFollower
from companion.supervision.safety_turns import SafetyTurns
from companion.supervision.states import FlagTier
from companion.supervision.writing import WritingRelay
from companion.sweeper import Sweeper
from companion.turn_close import ClosedTurn
from companion.turn_driver import TurnDriver
from companion.turn_end import TurnEnd
from companion.turn_policy import TurnPolicy
from companion.visits.idle import IdleLocks
from companion.waiting_room import GateResult
from companion.watchers import Watchers
from routing.breaker import TUNING, Tuning
from routing.chain import Route

log = logging.getLogger(__name__)

TICK_S = 1.0
KEPT_CHECK_TICKS = 5
"""Ticks between two reads of kept questions: a hold, or the time for offering one, may have run out."""
VISIT_CHECK_TICKS = 30
"""Ticks between two checks that the visits of open sockets are live."""


def _ignore(_value: object) -> None:
    """Default for callbacks."""


class WebProcess:
    """Build it on the event loop it runs on, then start it. `route` returns the chain for turns that start now.

    `on_selection` is given the version of every selection that is stored, `on_end` the end of every turn that this
    process has closed. `documents_refused` counts the selections it could not use, `conditions` names what is wrong
    with its configuration. `noticing` reads messages and replies; `on_message` is given each stored message that is not
    red. `extra_loops` run as long as this process does. `database_moves` counts how often the database has moved to
    another server.
    """

    def __init__(
        self,
        *,
        pool: AsyncConnectionPool[Any],
        build_bell: Callable[..., Doorbell],
        policy: TurnPolicy,
        process: UUID,
        caller: LaneCaller,
        route: Callable[[], Route],
        tuning: Tuning = TUNING,
        on_selection: Callable[[int], None] = _ignore,
        on_end: Callable[[TurnEnd], None] = _ignore,
        documents_refused: Callable[[], int] = int,
        conditions: Callable[[], tuple[str, ...]] = tuple,
        noticing: Noticing,
        on_message: Callable[[int, FlagTier | None], None] = lambda _turn, _tier: None,
        extra_loops: Sequence[Callable[[], Awaitable[None]]] = (),
        on_database_back: Callable[[], None] = lambda: None,
        database_moves: Callable[[], int] = int,
    ) -> None:
        self.id = process
        self.policy = policy
        self._pool = pool
        self._on_database_back = on_database_back
        self._extra_loops = extra_loops
        self.breakers = SharedBreakers(
            pool,
            process=process,
            on_change=self.reroute,
            monotonic=asyncio.get_running_loop().time,
            tuning=tuning,
        )

        def order_route() -> Route:
            return order_lanes(route(), self.breakers)

        self.history = History(pool, policy)
        self.watchers = Watchers(self.history, process=process)
        self.ledger = Ledger(
            pool, policy, process=process, on_change=self._on_ledger_change, route=order_route
        )
        self.journal = self._build_journal(database_moves)
        self._noticing = noticing
        self._on_message = on_message
        self.safety = SafetyTurns(pool, policy, process=process, on_change=self.on_staff_act)
        self.runner = self._build_runner(caller, route, on_end)
        self._lanes = self._build_lane_follower(order_route)
        self._staff_pauses = self._build_pause_follower()
        self._leases = LeaseFollower(pool, policy, process=process)
        self.visit_access = VisitAccess(pool)
        self.sockets, self.idle_locks = SocketRegistry(), IdleLocks(pool)
        self.heartbeat = self._build_heartbeat(
            lambda: describe_routing(route(), documents_refused(), conditions())
        )
        self._sweeper = self._build_sweeper()
        self._notifications = self._build_notification_handler(on_selection)
        self._bell = build_bell(on_notification=self._notifications.handle, on_connect=self._on_connect)
        self._loops: list[asyncio.Task[None]] = []

    def _build_journal(self, database_moves: Callable[[], int]) -> Journal:
        return Journal(
            self._pool,
            self.policy,
            process=self.id,
            on_stored=self.watchers.publish_chunk,
            # Looked up at each call: the runner is built after the journal, which it needs.
            on_lost=lambda turn: self.runner.abandon(turn),
            moves=database_moves,
        )

    def _build_runner(
        self, caller: LaneCaller, route: Callable[[], Route], on_end: Callable[[TurnEnd], None]
    ) -> Runner:
        # The driver takes the chain in the order of the file: it asks the breakers itself before each call.
        driver = TurnDriver(
            ledger=self.ledger,
            journal=self.journal,
            history=self.history,
            watchers=self.watchers,
            caller=caller,
            breakers=self.breakers,
            policy=self.policy,
            noticing=self._noticing,
            process=self.id,
            route=route,
            on_end=on_end,
        )
        return Runner(
            driver=driver,
            ledger=self.ledger,
            journal=self.journal,
            watchers=self.watchers,
            policy=self.policy,
            noticing=self._noticing,
            safety=self.safety,
            on_message=self._on_message,
        )

    async def raise_help(self, conversation: int) -> HelpAnswer | None:
        """Store that a participant without a socket asks for a person; returns the answer. Raises psycopg.Error.

        None: the conversation is erased.
        """
        answer = await self.runner.ask_for_person(conversation)
        return None if answer is None else await answer

    def _build_lane_follower(self, ordered_route: Callable[[], Route]) -> LaneFollower:
        return LaneFollower(
            self.breakers,
            ledger=self.ledger,
            ordered_route=ordered_route,
            waiting=lambda: self.runner.waiting,
        )

    def _build_pause_follower(self) -> PauseFollower:
        return PauseFollower(
            self._pool,
            self.ledger,
            self.policy,
            process=self.id,
            history=self.history,
            watchers=self.watchers,
        )

    def _build_sweeper(self) -> Sweeper:
        return Sweeper(
            ledger=self.ledger,
            runner=self.runner,
            watchers=self.watchers,
            is_draining=lambda: self.is_draining,
        )

    def _build_heartbeat(self, routing: Callable[[], ServedRouting]) -> Heartbeat:
        return Heartbeat(
            self._pool,
            self.policy,
            process=self.id,
            sockets=lambda: len(self.sockets),
            routing=routing,
            pages=lambda: self.sockets.conversations,
        )

    def _build_notification_handler(self, on_selection: Callable[[int], None]) -> NotificationHandler:
        return NotificationHandler(
            process=self.id,
            runner=self.runner,
            watchers=self.watchers,
            sockets=self.sockets,
            safety=self.safety,
            lanes=self._lanes,
            staff_pauses=self._staff_pauses,
            writing=WritingRelay(self.history, self.watchers, self.policy),
            sweep_soon=self._sweeper.sweep_soon,
            on_selection=on_selection,
        )

    def add_listener(self, listener: Callable[[Notification], None]) -> None:
        """Call `listener` with every notification that this process receives, after its own work with it."""
        self._notifications.listeners.append(listener)

    @property
    def is_ready(self) -> bool:
        """Whether a proxy may send new visits here."""
        return bool(self._loops) and self.heartbeat.is_fresh and not self.heartbeat.draining

    @property
    def is_draining(self) -> bool:
        """Whether this process has been told to stop."""
        return self.heartbeat.draining

    async def start(self) -> None:
        """Open the pool, run the gate once and start the loops. Waits until the database answers."""
        await self._pool.open()
        while True:
            try:
                await self.heartbeat.beat()
                await self.ledger.run_gate()
                await self.breakers.refresh()
                break
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("process.waits_for_database cause=%s", type(failure).__name__)
                await asyncio.sleep(0.5)
        loops = (
            self.heartbeat.run,
            self._bell.run,
            self.journal.run,
            self.watchers.run,
            self._tick,
            self._watch_lease,
            self._lanes.run,
            self._staff_pauses.run,
            self._sweeper.run,
            *self._extra_loops,
        )
        self._loops = [asyncio.create_task(self._keep_running(loop)) for loop in loops]
        log.info("process.started process=%s", self.id)

    async def drain(self) -> None:
        """Admit no more turns, hand on those that wait, let running ones finish within the grace time, pause the rest.

        Pages are sent to other processes meanwhile.
        """
        self.heartbeat.draining = True
        try:
            await self.heartbeat.beat()
        except psycopg.Error:
            log.warning("process.drains_without_database process=%s", self.id)
        draining = Draining(
            self._pool,
            self.policy,
            process=self.id,
            runner=self.runner,
            watchers=self.watchers,
            sockets=self.sockets,
        )
        await draining.run()
        log.info("process.drained process=%s", self.id)

    async def stop(self) -> None:
        """Cancel the loops, delete the heartbeat row and close the pool."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        try:
            async with asyncio.timeout(2):
                # Releases this process's probes now and not when their leases run out.
                await self.breakers.settle()
                await self.heartbeat.delete()
        except (psycopg.Error, TimeoutError):
            log.warning("process.left_without_goodbye process=%s", self.id)
        await self._pool.close(timeout=2)

    async def _keep_running(self, loop: Any) -> None:
        # The process cannot work without its loops, so a loop that raises is started again.
        while True:
            try:
                await loop()
            except Exception as failure:
                log.error("process.loop_broke loop=%s cause=%s", loop.__qualname__, type(failure).__name__)
                await asyncio.sleep(0.5)

    def _on_ledger_change(self, result: GateResult, ended: list[ClosedTurn]) -> None:
        for admission in result.admitted:
            if admission.owner == self.id:
                self.runner.admit(admission)
        closed = [*ended, *result.lost]
        for turn in closed:
            self.runner.abandon(turn.turn)
        self.watchers.mark_changed((turn.turn, turn.conversation) for turn in closed)

    def on_staff_act(
        self,
        ended: Iterable[ClosedTurn],
        conversations: Collection[int],
        opened: Iterable[tuple[int, int]] = (),
    ) -> None:
        """An act of staff, or a red message, at this process ended these turns and changed who may speak."""
        closed = list(ended)
        for turn in closed:
            self.runner.abandon(turn.turn)
        self.watchers.mark_changed([*((turn.turn, turn.conversation) for turn in closed), *opened])
        self.watchers.mark_entries_changed(conversations)

    async def _on_connect(self) -> None:
        self._on_database_back()
        await self._check_rows()
        await self._check_visits()
        self.watchers.refresh()

    async def _tick(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_S)
            ticks += 1
            try:
                await self._check_rows()
                self.watchers.mark_entries_changed(await self._leases.check())
                await self.idle_locks.sweep()
                # Less often: notifications tell of nearly everything that these queries find.
                if ticks % 3 == 0:
                    self.watchers.refresh()
                    await self._sweeper.sweep()
                if ticks % KEPT_CHECK_TICKS == 0:
                    self.watchers.mark_kept_changed(self.watchers.conversations)
                if ticks % VISIT_CHECK_TICKS == 0:
                    await self._check_visits()
            except (psycopg.Error, TimeoutError) as failure:
                log.warning("process.tick_missed cause=%s", type(failure).__name__)

    async def _check_rows(self) -> None:
        """Read what a lost notification would have said: admitted turns, ended turns, and breakers."""
        if self.heartbeat.has_lapsed:
            # The gate would pause this process's own turns as lost. The heartbeat must be written first.
            return
        self._lanes.check_soon()
        self._staff_pauses.check_soon()
        await self.ledger.run_gate()
        if running := self.runner.running:
            speaking, ended = await self.ledger.read_live(running)
            # Read after the query: the admission of a turn that ended during it would be kept for ever.
            waiting = set(self.runner.waiting)
            for admission in speaking:
                if admission.turn in waiting:
                    self.runner.admit(admission)
            for turn in ended:
                self.runner.abandon(turn)

    async def _watch_lease(self) -> None:
        """Cancel every call once the lease has run out: another process may have given its slot away."""
        while True:
            await asyncio.sleep(TICK_S)
            if self.heartbeat.has_lapsed:
                for turn in self.runner.running:
                    self.runner.abandon(turn)

    def reroute(self) -> None:
        """Let waiting turns wait for the first lane of the chain that is now in force."""
        self._lanes.check_soon()

    async def _check_visits(self) -> None:
        visits = self.sockets.visits
        if visits:
            for visit, reason in (await self.visit_access.find_over(visits)).items():
                self.sockets.close_visits({visit}, reason)
