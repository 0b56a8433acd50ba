"""The turns of this process: opens them, runs each in a task, and interrupts them. A socket owns no turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID, uuid4

import psycopg

from companion.hand_over import ClaimedTurn
from companion.journal import Journal
from companion.ledger import Ledger
from companion.log_references import copy_references
from companion.outbox_events import TurnAccepted
from companion.running_turn import RunningTurn
from companion.states import Reason, TurnState
from companion.supervision.helplines import HelpAnswer
from companion.supervision.noticing import Notice, Noticing
from companion.supervision.safety_turns import SafetyTurns
from companion.supervision.states import FlagTier
from companion.turn_close import ClosedTurn
from companion.turn_driver import TurnDriver
from companion.turn_end import TurnEnd
from companion.turn_open import AskAgainRequest, OpenedTurn, OpenRefusal, SayRequest
from companion.turn_policy import TurnPolicy
from companion.waiting_room import Admission
from companion.watchers import Watchers

Result = TypeVar("Result")
log = logging.getLogger(__name__)


class Runner:
    """Holds the running turns of one process; `driver` takes each to its end.

    `on_message` is given each turn whose message is new and not red, with the tier that the rules put it into.
    """

    def __init__(
        self,
        *,
        driver: TurnDriver,
        ledger: Ledger,
        journal: Journal,
        watchers: Watchers,
        policy: TurnPolicy,
        noticing: Noticing,
        safety: SafetyTurns,
        on_message: Callable[[int, FlagTier | None], None],
    ) -> None:
        self._on_message = on_message
        self._noticing = noticing
        self._safety = safety
        self._driver = driver
        self._ledger = ledger
        self._journal = journal
        self._watchers = watchers
        self._policy = policy
        self._running: dict[int, RunningTurn] = {}
        self._admitted_early: dict[int, Admission] = {}
        # asyncio keeps weak references only: a task that nothing else holds may be collected while it runs.
        self._background: set[asyncio.Task[Any]] = set()

    @property
    def running(self) -> list[int]:
        """The ids of all turns that this process runs now."""
        return list(self._running)

    @property
    def conversations(self) -> list[int]:
        """The conversations of all turns that this process runs now."""
        return [turn.conversation for turn in self._running.values()]

    @property
    def waiting(self) -> list[int]:
        """The ids of those that have not been admitted yet."""
        return [turn.turn for turn in self._running.values() if not turn.admission.done()]

    async def say(self, request: SayRequest) -> OpenedTurn | OpenRefusal:
        """Store a message and start its turn. The turn survives the socket.

        The rules read it first, in this process: a red message is answered by a drafted line and rings.
        """
        noticing = self._noticing.in_language(request.language)
        notice = noticing.read_message(request.question)
        if notice and notice.tier is FlagTier.RED:
            return await self._shield(self._open_red(request, notice))
        request = self._read_request(noticing, request, notice)
        return await self._shield(self._open(request, self._ledger.open(request)))

    @staticmethod
    def _read_request(noticing: Noticing, request: SayRequest, notice: Notice | None) -> SayRequest:
        """Add what the rules read in a message that is not red. What worries staff takes no leave."""
        text = request.question
        asks_if_human = noticing.asks_if_human(text)
        may_leave = notice is None and not asks_if_human
        return replace(
            request,
            notice=notice,
            asks_if_human=asks_if_human,
            is_farewell=may_leave and noticing.is_farewell(text),
            ends_with_farewell=may_leave and noticing.ends_with_farewell(text),
        )

    async def ask_for_person(self, conversation: int) -> asyncio.Task[HelpAnswer] | None:
        """Store that the participant asks for a person. The task returns what answers it, within a second.

        None: the conversation is erased.
        """
        stored = await self._safety.store_help(conversation)
        return None if stored is None else self._spawn(self._safety.decide_help(conversation, stored))

    async def ask_again(self, request: AskAgainRequest) -> OpenedTurn | OpenRefusal:
        """Store a kept question as a new turn and start it. The turn survives the socket."""
        return await self._shield(self._open(request, self._ledger.ask_again(request)))

    def adopt(self, claimed: ClaimedTurn) -> None:
        """Drive a waiting turn that another process has handed over."""
        noticing = self._noticing.in_language(claimed.language)
        request = SayRequest(visit=claimed.visit, key=uuid4(), question=claimed.question)
        request = self._read_request(noticing, request, noticing.read_message(claimed.question))
        opened = OpenedTurn(
            turn=claimed.turn, conversation=claimed.conversation, is_new=False, language=claimed.language
        )
        self._start(opened, request, wait_s=claimed.wait_s)

    async def let_go(self, *, conversation: int, turn: int) -> None:
        """Settle a kept question because its participant said so."""
        if await self._ledger.let_go(conversation=conversation, turn=turn):
            self._watchers.mark_kept_changed([conversation])

    async def stop(self, turn: int, *, language: str = "") -> ClosedTurn | None:
        """End a turn because its participant said so, whichever process runs it. None: it had ended.

        `language` is that of the participant; empty: the first of the character.
        """
        return await self._ledger.close(self._stop_end(turn, Reason.STOPPED, language))

    def stop_visits(self, visits: set[UUID]) -> None:
        """Stop the turns of visits that have ended: their participants no longer wait for an answer."""
        for turn in list(self._running.values()):
            if turn.visit in visits:
                # With retries in a task of its own: this is called for each notification, which must not wait.
                self._spawn(self._driver.close(self._stop_end(turn.turn, Reason.SIGNED_OUT, turn.language)))

    def move_turns(self, visits: set[UUID], to: UUID) -> None:
        """Let the turns of these visits belong to the visit in which their participant goes on."""
        for turn in self._running.values():
            if turn.visit in visits:
                turn.visit = to

    def admit(self, admission: Admission) -> None:
        """Let a turn of this process speak. A second call changes nothing."""
        turn = self._running.get(admission.turn)
        if turn is None:
            # The gate ran in the transaction that opened the turn; its task starts in a moment.
            self._admitted_early[admission.turn] = admission
        elif not turn.admission.done():
            turn.admission.set_result(admission)

    def abandon(self, turn: int) -> None:
        """Close the upstream of a turn that was ended elsewhere or cannot be stored, and show nothing more of it."""
        running = self._running.get(turn)
        # With a result the reply is whole, and the ledger's compare-and-set decides which end counts.
        if running is None or running.result is not None or running.is_closing:
            return
        if running.interrupt(Reason.LOST) and running.buffer is not None:
            self._journal.discard(running.buffer)

    def pause_waiting(self) -> None:
        """Pause every turn that has not been admitted: the process is leaving and admits no more."""
        for turn in list(self._running.values()):
            if not turn.admission.done() and not turn.is_closing:
                turn.interrupt(Reason.DRAINED)

    async def pause_all(self) -> None:
        """Pause every turn that still runs, and wait until that is stored: the process is leaving."""
        turns = [turn for turn in self._running.values() if turn.task is not None]
        for turn in turns:
            if turn.result is None and not turn.is_closing:
                turn.interrupt(Reason.DRAINED)
        await asyncio.gather(*(turn.task for turn in turns if turn.task), return_exceptions=True)

    async def wait_until_idle(self) -> None:
        """Wait until no turn runs."""
        # A turn whose opening was under way may have started meanwhile.
        while self._running:
            tasks = [turn.task for turn in self._running.values() if turn.task is not None]
            await asyncio.wait(tasks, return_when=asyncio.ALL_COMPLETED)

    def _stop_end(self, turn: int, reason: Reason, language: str) -> TurnEnd:
        lines = self._policy.in_language(language).lines
        # Names neither owner nor fence: a participant's stop counts on every process, admitted or not.
        return TurnEnd(
            turn=turn,
            state=TurnState.STOPPED,
            reason=reason,
            line=lines.stopped,
            line_unread=lines.taken_back,
        )

    async def _open(
        self,
        request: SayRequest | AskAgainRequest,
        opening: Awaitable[OpenedTurn | OpenRefusal],
    ) -> OpenedTurn | OpenRefusal:
        opened = await opening
        if isinstance(opened, OpenedTurn) and opened.is_new:
            self._watchers.publish_accepted(
                TurnAccepted(turn=opened.turn, conversation=opened.conversation, key=request.key)
            )
            if isinstance(request, AskAgainRequest):
                self._watchers.mark_kept_changed([opened.conversation])
            else:
                self._on_message(opened.turn, request.notice.tier if request.notice else None)
            if opened.is_ended:
                self._watchers.mark_changed([(opened.turn, opened.conversation)])
            else:
                self._start(opened, request)
        return opened

    async def _open_red(self, request: SayRequest, notice: Notice) -> OpenedTurn | OpenRefusal:
        stored = await self._safety.store_red(request, notice)
        if isinstance(stored, OpenRefusal):
            return stored
        opened = stored.opened
        if opened.is_new:
            self._watchers.publish_accepted(
                TurnAccepted(turn=opened.turn, conversation=opened.conversation, key=request.key)
            )
            # The line shows itself then, if it was not worded before.
            self._watchers.mark_changed_later(self._policy.decide_s, [(opened.turn, opened.conversation)])
            self._spawn(self._safety.decide_red(stored))
        if stored.closed:
            self._spawn(self._run_gate())
        return opened

    async def _run_gate(self) -> None:
        # Slots are free now. Without this the next tick would fill them.
        try:
            await self._ledger.run_gate()
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("runner.gate_missed cause=%s", type(failure).__name__)

    def _start(
        self, opened: OpenedTurn, request: SayRequest | AskAgainRequest, *, wait_s: float | None = None
    ) -> None:
        turn = RunningTurn(
            turn=opened.turn,
            conversation=opened.conversation,
            visit=request.visit,
            language=opened.language,
            ends_with_farewell=isinstance(request, SayRequest) and request.ends_with_farewell,
            admission=asyncio.get_running_loop().create_future(),
            inputs=opened.inputs,
            wait_s=self._policy.wait_ceiling_s if wait_s is None else max(wait_s, 0.0),
        )
        self._running[opened.turn] = turn
        if admission := self._admitted_early.pop(opened.turn, None):
            turn.admission.set_result(admission)
        else:
            # It waits: the line that says so is read from its row.
            self._watchers.mark_changed([(opened.turn, opened.conversation)])
        turn.task = self._create_task(self._driver.drive(turn), turn=opened.turn)
        turn.task.add_done_callback(lambda _: self._running.pop(opened.turn, None))

    async def _shield(
        self, opening: Coroutine[Any, Any, OpenedTurn | OpenRefusal]
    ) -> OpenedTurn | OpenRefusal:
        """Finish the opening even if the socket that asked for it goes away."""
        # Cancelled between commit and start, the turn would have no task, and stand still until the sweep.
        return await asyncio.shield(self._spawn(opening))

    def _spawn(self, coroutine: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = self._create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _create_task(self, coroutine: Coroutine[Any, Any, Result], **references: int) -> asyncio.Task[Result]:
        # A context of its own: of that of the socket, a turn inherits what its log lines name, and nothing else.
        return asyncio.create_task(coroutine, context=copy_references(**references))
