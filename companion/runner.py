"""Drives turns: ledger, engine, journal, ledger. Owns the tasks of this process; a socket owns none.

A task ends its turn in the ledger whatever happens to it. What it cannot end, because the database is away
or the process dies, the sweep does.
"""

import asyncio
import contextvars
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from companion.engine import Answered, Broken, LaneCaller, Limits, ReplyText, TurnProgress, run_turn
from companion.history import History
from companion.journal import Journal, TurnBuffer
from companion.ledger import Ledger
from companion.outbox import TurnAccepted
from companion.outcome import Outcome, log_story, story_of
from companion.prompt import PromptDraft
from companion.prompt_inputs import PromptInputs
from companion.slots import SlottedCaller
from companion.states import Reason, TurnState
from companion.turn_close import ClosedTurn, Ending
from companion.turn_open import AskAgainRequest, OpenedTurn, OpenRefusal, SayRequest
from companion.turn_policy import TurnPolicy
from companion.turn_record import Story
from companion.waiting_room import Admission
from companion.watchers import Watchers
from routing.chain import Breakers, LaneCursor, Route
from routing.errors import FailureClass

log = logging.getLogger(__name__)


LOOKS_AGAIN_S = 1.0
"""How often a turn that may not be refused yet looks whether it may."""


CLOCKS_APART_S = 0.05
"""Added to a timer of this process whose moment is judged by the database's clock."""


CLOSES_FOR_S = 60.0
"""How long a task tries to end its turn while the database is away; after that the sweep does it."""


@dataclass(slots=True, eq=False)
class _Drive:
    """One turn's task and what it is told from outside."""

    turn: int
    conversation: int
    visit: UUID
    admission: asyncio.Future[Admission]
    line: TurnBuffer | None = None
    closing: bool = False
    """Its end is being stored, by its own task: nobody needs to tell it."""
    nudge: asyncio.TimerHandle | None = None
    """Has the turn read again, and so its *still here* line shown, where no word has come by then."""
    told: Reason | None = None
    """Why it was told to end; None while it runs freely."""
    task: asyncio.Task[None] | None = None
    result: Answered | Broken | None = None
    course: TurnProgress | None = None
    material: PromptInputs | None = None
    route: Route | None = None


class Runner:
    """All turns this process drives. `route` names the chain a turn that starts now keeps to its end.

    `recorded` is given each story once it is stored.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        journal: Journal,
        history: History,
        watchers: Watchers,
        caller: LaneCaller,
        breakers: Breakers,
        policy: TurnPolicy,
        process: UUID,
        route: Callable[[], Route],
        recorded: Callable[[Story], None],
    ) -> None:
        self._ledger = ledger
        self._journal = journal
        self._history = history
        self._watchers = watchers
        self._caller = caller
        self._breakers = breakers
        self._policy = policy
        self._process = process
        self._route = route
        self._recorded = recorded
        self._drives: dict[int, _Drive] = {}
        self._early: dict[int, Admission] = {}
        self._opening: set[asyncio.Task[OpenedTurn | OpenRefusal]] = set()
        self._stopping: set[asyncio.Task[ClosedTurn | None]] = set()

    @property
    def driven(self) -> list[int]:
        """The ids of all turns this process drives now."""
        return list(self._drives)

    @property
    def waiting(self) -> list[int]:
        """The ids of those that have not been admitted yet."""
        return [drive.turn for drive in self._drives.values() if not drive.admission.done()]

    async def say(self, asked: SayRequest) -> OpenedTurn | OpenRefusal:
        """Store a message and drive its turn. The socket may go away meanwhile."""
        return await self._opened(self._open(asked, self._ledger.open(asked)))

    async def ask_again(self, again: AskAgainRequest) -> OpenedTurn | OpenRefusal:
        """Store a kept question as a new turn and drive it. The socket may go away meanwhile."""
        return await self._opened(self._open(again, self._ledger.ask_again(again)))

    async def let_go(self, *, conversation: int, turn: int) -> None:
        """Settle a kept question because its participant said so."""
        if await self._ledger.let_go(conversation=conversation, turn=turn):
            self._watchers.mark_kept_changed([conversation])

    async def _opened(
        self, opening: Coroutine[Any, Any, OpenedTurn | OpenRefusal]
    ) -> OpenedTurn | OpenRefusal:
        task = self._spawn(opening)
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        return await asyncio.shield(task)

    async def stop(self, turn: int) -> ClosedTurn | None:
        """End a turn because its participant said so, whichever process drives it. None: it had ended."""
        return await self._ledger.close(self._stopped(turn, Reason.STOPPED))

    def _stopped(self, turn: int, reason: Reason) -> Story:
        lines = self._policy.lines
        ending = Ending(
            turn=turn,
            state=TurnState.STOPPED,
            reason=reason,
            line=lines.stopped,
            line_unread=lines.taken_back,
        )
        return Story(ending=ending)

    def admitted(self, admitted: Admission) -> None:
        """A turn of this process may speak."""
        drive = self._drives.get(admitted.turn)
        if drive is None:
            # The gate ran in the transaction that opened it; its task starts in a moment.
            self._early[admitted.turn] = admitted
        elif not drive.admission.done():
            drive.admission.set_result(admitted)

    def ended(self, turn: int) -> None:
        """A turn was ended by someone else, or can no longer be stored: close the upstream, show nothing more."""
        drive = self._drives.get(turn)
        if drive is not None and drive.result is None and not drive.closing:
            self._interrupt(drive, Reason.LOST)

    def signed_out(self, visits: set[UUID]) -> None:
        """These visits have ended: whoever left is not waiting for an answer any more."""
        for drive in list(self._drives.values()):
            if drive.visit in visits:
                task = self._spawn(self._close(self._stopped(drive.turn, Reason.SIGNED_OUT)))
                self._stopping.add(task)
                task.add_done_callback(self._stopping.discard)

    def pause_waiting(self) -> None:
        """The process is leaving, and lets nobody in any more: pause what has not been admitted."""
        for drive in list(self._drives.values()):
            if not drive.admission.done() and not drive.closing:
                self._interrupt(drive, Reason.DRAINED)

    async def pause_all(self) -> None:
        """The process is leaving: pause what still runs, and wait until that is stored."""
        drives = [drive for drive in self._drives.values() if drive.task is not None]
        for drive in drives:
            if drive.result is None and not drive.closing:
                self._interrupt(drive, Reason.DRAINED)
        await asyncio.gather(*(drive.task for drive in drives if drive.task), return_exceptions=True)

    async def idle(self) -> None:
        """Wait until no turn runs."""
        while self._drives:
            tasks = [drive.task for drive in self._drives.values() if drive.task is not None]
            await asyncio.wait(tasks, return_when=asyncio.ALL_COMPLETED)

    def _interrupt(self, drive: _Drive, why: Reason) -> None:
        if not drive.told and drive.task is not None:
            drive.told = why
            if drive.line is not None and why is Reason.LOST:
                self._journal.drop(drive.line)
            drive.task.cancel()

    async def _open(
        self, asked: SayRequest | AskAgainRequest, opening: Awaitable[OpenedTurn | OpenRefusal]
    ) -> OpenedTurn | OpenRefusal:
        opened = await opening
        if isinstance(opened, OpenedTurn) and opened.is_new:
            self._watchers.publish_accepted(
                TurnAccepted(turn=opened.turn, conversation=opened.conversation, key=asked.key)
            )
            if isinstance(asked, AskAgainRequest):
                self._watchers.mark_kept_changed([opened.conversation])
            self._start(opened, asked.visit)
        return opened

    def _start(self, opened: OpenedTurn, visit: UUID) -> None:
        admission: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
        drive = _Drive(
            turn=opened.turn,
            conversation=opened.conversation,
            visit=visit,
            admission=admission,
            material=opened.material,
        )
        self._drives[opened.turn] = drive
        if early := self._early.pop(opened.turn, None):
            admission.set_result(early)
        else:
            self._watchers.mark_changed([(opened.turn, opened.conversation)])
        drive.task = self._spawn(self._drive(drive))
        drive.task.add_done_callback(lambda _: self._drives.pop(opened.turn, None))

    def _spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        # A task would inherit the context of the socket that started it; a turn belongs to nobody's request.
        return asyncio.create_task(coroutine, context=contextvars.Context())

    async def _drive(self, drive: _Drive) -> None:
        try:
            if not await self._wait(drive):
                return
            self._nudge_later(drive)
            await self._speak(drive)
        except asyncio.CancelledError:
            if not drive.told:
                raise
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
        except Exception as failure:
            # The class alone: the text of an exception may hold what somebody wrote.
            log.error("runner.turn_broke turn=%d cause=%s", drive.turn, type(failure).__name__)
        finally:
            self._cancel_nudge(drive)
        story = await self._story(drive)
        drive.closing = True
        log_story(story, ended_here=await self._close(story) is not None)

    def _nudge_later(self, drive: _Drive) -> None:
        changed = [(drive.turn, drive.conversation)]
        wait_s = self._policy.still_here_s + CLOCKS_APART_S
        drive.nudge = asyncio.get_running_loop().call_later(wait_s, self._watchers.mark_changed, changed)

    def _cancel_nudge(self, drive: _Drive) -> None:
        if drive.nudge is not None:
            drive.nudge.cancel()
            drive.nudge = None

    async def _wait(self, drive: _Drive) -> bool:
        """Wait for admission. False: the wait ceiling was reached and the turn is refused."""
        patience_s = self._policy.wait_ceiling_s
        while True:
            try:
                async with asyncio.timeout(patience_s):
                    await asyncio.shield(drive.admission)
                return True
            except TimeoutError:
                refusal = Ending(
                    turn=drive.turn,
                    state=TurnState.REFUSED,
                    reason=Reason.WAIT_CEILING,
                    line=self._policy.lines.try_again,
                    owner=self._process,
                    only_in_line=True,
                )
                # Not ended: it was admitted in this very moment and the bell is on its way, or it stands behind
                # an earlier turn of the same person and its own wait has not begun.
                story = Story(ending=refusal)
                drive.closing = True
                if await self._close(story):
                    log_story(story, ended_here=True)
                    return False
                drive.closing = False
                patience_s = LOOKS_AGAIN_S

    async def _speak(self, drive: _Drive) -> None:
        admitted = drive.admission.result()
        route = self._route()
        material = drive.material = drive.material or await self._history.read_prompt_inputs(drive.turn)
        route = drive.route = route.within(material.regions)
        if not route.lanes:
            # Whatever was selected, nobody outside the site's regions reads what its people write.
            drive.told = Reason.REGION
            log.error("runner.no_lane_in_region turn=%d preset=%s", drive.turn, route.preset)
            return
        line = drive.line = TurnBuffer(turn=drive.turn, conversation=drive.conversation, fence=admitted.fence)
        draft = PromptDraft(
            system=self._policy.system_prompt,
            instruction_held=self._policy.lines.instruction_held,
            dialogue=material.dialogue,
            held=[question for _, question in material.held],
            question=material.question,
            doubted=frozenset(
                place for place, (turn, _) in enumerate(material.held) if turn in material.doubted
            ),
        )
        limits = Limits(
            seconds=self._policy.turn_budget_s,
            attempts=self._policy.attempts,
            now=asyncio.get_running_loop().time,
            sleep=asyncio.sleep,
            random=random.random,
        )
        caller = SlottedCaller(self._caller, self._ledger, admitted, takes=self._breakers.takes)
        may_say_reduced = await self._may_say_reduced(drive.turn, route)
        course = drive.course = TurnProgress(LaneCursor(route.lanes, self._breakers), limits)
        events = run_turn(draft, course, caller, reference=f"turn-{drive.turn}")
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, ReplyText):
                    if event.opens:
                        self._cancel_nudge(drive)
                        reduced = may_say_reduced and route.marks(course.way.lane)
                        line.openings = self._reduced() * reduced + self._back(course)
                    self._journal.say(line, event.text)
                else:
                    drive.result = event

    async def _may_say_reduced(self, turn: int, route: Route) -> bool:
        """Whether the line is due, should a lane answer whose replies are marked."""
        if not any(route.marks(lane) for lane in route.lanes):
            return False
        return not await self._history.has_said_reduced(turn, route.version)

    def _reduced(self) -> list[dict[str, str]]:
        """The drafted line before the first word of a reply that may not be as good."""
        return [{"kind": "reduced", "line": self._policy.lines.reduced}]

    def _back(self, course: TurnProgress) -> list[dict[str, str]]:
        """The drafted lines before the first word that hang on the held questions: which were given up, which asked."""
        lines = self._policy.lines
        shown = [
            ("unanswerable", lines.unanswerable, course.given_up.unanswerable),
            ("i_am_back", lines.i_am_back, course.held),
        ]
        return [{"kind": kind, "line": line} for kind, line, places in shown if places]

    async def _story(self, drive: _Drive) -> Story:
        """What is to be recorded of a turn that has run, after its last words are stored."""
        line = drive.line
        stored = line is None or await self._journal.settle(line)
        outcome = Outcome(
            turn=drive.turn,
            owner=self._process,
            fence=drive.admission.result().fence if drive.admission.done() else None,
            result=drive.result or (drive.course.broken(FailureClass.CANCELLED) if drive.course else None),
            told=drive.told,
            stored=stored,
            shown=line.seq if line else None,
            route=drive.route,
            material=drive.material,
        )
        return story_of(outcome, self._policy)

    async def _close(self, story: Story) -> ClosedTurn | None:
        """End a turn in the ledger, trying again for a good while: only its own task knows what was shown of it.

        None: somebody else ended it, and only its story has been added; or it is left to the sweep.
        """
        loop = asyncio.get_running_loop()
        give_up = loop.time() + CLOSES_FOR_S
        while True:
            try:
                ended = await self._ledger.close(story)
                if ended is not None or story.attempts:
                    self._recorded(story)
                return ended
            except psycopg.Error as failure:
                log.warning("runner.cannot_close turn=%d cause=%s", story.ending.turn, type(failure).__name__)
                if loop.time() > give_up:
                    return None
                await asyncio.sleep(0.2 + 0.3 * random.random())
