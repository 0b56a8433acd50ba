"""Drives one turn from its admission to its end: wait for a slot, step the engine, fill the journal, close the row.

The task of a turn always closes it in the ledger, after an error too. If it cannot, because the database is away or the
process dies, the sweep closes the turn.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import aclosing
from uuid import UUID

import psycopg

from companion.engine import LaneCaller, Limits, ReplyText, TurnProgress, run_turn
from companion.history import History
from companion.journal import Journal, TurnBuffer
from companion.ledger import Ledger
from companion.prompt import PromptDraft
from companion.prompt_inputs import PromptInputs
from companion.running_turn import RunningTurn, log_end
from companion.slots import SlottedCaller
from companion.states import Reason, TurnState
from companion.supervision.noticing import Noticing
from companion.turn_close import ClosedTurn
from companion.turn_end import TurnEnd
from companion.turn_policy import CharacterTexts, DraftedLines, TurnPolicy
from companion.watchers import Watchers
from routing.chain import Breakers, LaneCursor, Route

log = logging.getLogger(__name__)

REFUSAL_RETRY_S = 1.0
"""Time between two tries to refuse a turn whose wait is over here, and not yet in the database."""

CLOSE_TIMEOUT_S = 60.0
"""Time for which a task tries to close its turn while the database is away. After it the sweep closes the turn."""


class TurnDriver:
    """Drives turns, each in its own task. `route` names the chain of a turn that starts now; it keeps it to its end.

    `on_end` is given the end of each turn once it is stored.
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
        noticing: Noticing,
        process: UUID,
        route: Callable[[], Route],
        on_end: Callable[[TurnEnd], None],
    ) -> None:
        self._ledger = ledger
        self._journal = journal
        self._history = history
        self._watchers = watchers
        self._caller = caller
        self._breakers = breakers
        self._policy = policy
        self._noticing = noticing
        self._process = process
        self._route = route
        self._on_end = on_end

    async def drive(self, turn: RunningTurn) -> None:
        """Run the turn and close it. Raises CancelledError if the task was cancelled without an interrupt."""
        try:
            if not await self._wait_for_admission(turn):
                return
            changed = [(turn.turn, turn.conversation)]
            turn.still_here_timer = self._watchers.mark_changed_later(self._policy.still_here_s, changed)
            await self._speak(turn)
        except asyncio.CancelledError:
            if not turn.interrupt_reason:
                raise
            task = asyncio.current_task()
            assert task is not None
            # The interrupt has done its work. What follows awaits the storing of the end.
            task.uncancel()
        except Exception as failure:
            # Log the class only: the text of an exception may quote a participant.
            log.error("runner.turn_broke turn=%d cause=%s", turn.turn, type(failure).__name__)
        finally:
            turn.cancel_still_here()
        # The last words are stored before the row is closed.
        is_stored = turn.buffer is None or await self._journal.finish(turn.buffer)
        end = turn.to_end(self._policy, owner=self._process, is_stored=is_stored)
        turn.is_closing = True
        log_end(end, ended_here=await self.close(end) is not None)

    async def close(self, end: TurnEnd) -> ClosedTurn | None:
        """Close a turn in the ledger, and retry while the database is away: only its own task knows its last words.

        None: it had been closed before, and only its record was added; or it is left to the sweep.
        """
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + CLOSE_TIMEOUT_S
        while True:
            try:
                closed = await self._ledger.close(end)
                # Of a turn that was ended elsewhere, the failed calls still count for alerts.
                if closed is not None or end.attempts:
                    self._on_end(end)
                return closed
            except psycopg.Error as failure:
                log.warning("runner.cannot_close turn=%d cause=%s", end.turn, type(failure).__name__)
                if loop.time() > give_up_at:
                    return None
                # Spread: all turns of the process retry when the database is back.
                await asyncio.sleep(0.2 + 0.3 * random.random())

    async def _wait_for_admission(self, turn: RunningTurn) -> bool:
        """Wait for a slot. False: the wait ceiling was reached, and the turn is refused."""
        timeout_s = turn.wait_s
        while True:
            try:
                async with asyncio.timeout(timeout_s):
                    # Shielded: the time-out must not cancel the future, because the gate may still admit the turn.
                    await asyncio.shield(turn.admission)
                return True
            except TimeoutError:
                if await self._refuse(turn):
                    return False
                timeout_s = REFUSAL_RETRY_S

    async def _refuse(self, turn: RunningTurn) -> bool:
        """Close a turn whose wait is over. False: it still waits, or the notice of its admission is on its way.

        It still waits while the time behind an earlier turn of the same person, which does not count, is not over.
        """
        end = TurnEnd(
            turn=turn.turn,
            state=TurnState.REFUSED,
            reason=Reason.WAIT_CEILING,
            line=self._policy.in_language(turn.language).lines.try_again,
            owner=self._process,
            only_in_line=True,
        )
        # From here an interrupt would cancel the closing. It is allowed again if the turn goes on waiting.
        turn.is_closing = True
        if await self.close(end):
            log_end(end, ended_here=True)
            return True
        turn.is_closing = False
        return False

    async def _speak(self, turn: RunningTurn) -> None:
        """Step the engine: words go to the journal, the result stays on the turn."""
        admission = turn.admission.result()
        route = self._route()
        inputs = turn.inputs = turn.inputs or await self._history.read_prompt_inputs(turn.turn)
        route = turn.route = route.within(inputs.regions)
        if not route.lanes:
            # A site's questions never leave its regions, whichever preset is selected.
            turn.interrupt_reason = Reason.REGION
            log.error("runner.no_lane_in_region turn=%d preset=%s", turn.turn, route.preset)
            return
        buffer = turn.buffer = TurnBuffer(
            turn=turn.turn, conversation=turn.conversation, fence=admission.fence
        )
        watch = turn.watch = self._noticing.in_language(turn.language).watch_reply()
        caller = SlottedCaller(self._caller, self._ledger, admission, takes=self._breakers.takes)
        is_reduced_line_due = await self._is_reduced_line_due(turn.turn, route)
        progress = turn.progress = TurnProgress(LaneCursor(route.lanes, self._breakers), self._limits())
        texts = self._policy.in_language(turn.language)
        events = run_turn(self._draft(inputs, texts), progress, caller, reference=f"turn-{turn.turn}")
        doubtful = ""
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                if not isinstance(event, ReplyText):
                    if doubtful and (caught := watch.catch_end()):
                        turn.caught = caught
                        return
                    if doubtful:
                        self._journal.append(buffer, doubtful)
                    turn.result = event
                    continue
                if caught := watch.catch(event.text):
                    # The words that complete it are neither stored nor shown.
                    turn.caught = caught
                    return
                if event.opens:
                    turn.cancel_still_here()
                    is_reduced = is_reduced_line_due and route.marks(progress.cursor.lane)
                    buffer.openings = [
                        *inputs.openings,
                        *self._openings(progress, texts.lines, is_reduced=is_reduced),
                    ]
                text = doubtful + event.text
                # A word that may complete a forbidden sentence waits until it is finished.
                doubtful = text if watch.is_in_doubt() else ""
                if not doubtful:
                    self._journal.append(buffer, text)

    @staticmethod
    def _draft(inputs: PromptInputs, texts: CharacterTexts) -> PromptDraft:
        return PromptDraft(
            system=texts.system_prompt,
            instruction_held=texts.lines.instruction_held,
            instruction_person=texts.lines.instruction_person,
            instruction_care=texts.lines.instruction_care if inputs.is_care_due else "",
            instruction_easy=texts.lines.instruction_easy if inputs.easy_words else "",
            person=inputs.person,
            dialogue=inputs.dialogue,
            held=[question for _, question in inputs.held],
            question=inputs.question,
            doubted=frozenset(place for place, (turn, _) in enumerate(inputs.held) if turn in inputs.doubted),
        )

    def _limits(self) -> Limits:
        return Limits(
            seconds=self._policy.turn_budget_s,
            attempts=self._policy.attempts,
            now=asyncio.get_running_loop().time,
            sleep=asyncio.sleep,
            random=random.random,
        )

    async def _is_reduced_line_due(self, turn: int, route: Route) -> bool:
        """Whether the first words open with the *reduced* line, if a marked lane says them."""
        if not any(route.marks(lane) for lane in route.lanes):
            return False
        return not await self._history.has_said_reduced(turn, route.version)

    @staticmethod
    def _openings(progress: TurnProgress, lines: DraftedLines, *, is_reduced: bool) -> list[dict[str, str]]:
        """The drafted lines before the first word: the reply is reduced, questions were given up, questions return."""
        openings = [
            ("reduced", lines.reduced, is_reduced),
            ("unanswerable", lines.unanswerable, progress.given_up.unanswerable),
            ("i_am_back", lines.i_am_back, progress.held),
        ]
        return [{"kind": kind, "line": line} for kind, line, is_due in openings if is_due]
