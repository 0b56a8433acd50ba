"""One turn while its task runs, and the end it comes to."""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from companion.doubt import NONE_GIVEN_UP
from companion.engine import Answered, Broken, TurnProgress
from companion.journal import TurnBuffer
from companion.prompt_inputs import PromptInputs
from companion.states import Reason, TurnState
from companion.supervision.causes import FlagCause
from companion.supervision.noticing import Notice, ReplyWatch
from companion.supervision.states import FlagSource
from companion.turn_end import TurnEnd
from companion.turn_policy import TurnPolicy
from companion.waiting_room import Admission
from routing.chain import Route
from routing.errors import FailureClass

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class RunningTurn:
    """Everything that the task of one turn knows. The runner creates it, the driver fills it in."""

    turn: int
    conversation: int
    visit: UUID
    admission: asyncio.Future[Admission]
    wait_s: float
    """Seconds that it may wait to be admitted, from now."""
    language: str = ""
    """Of its drafted lines; empty: the first of the character."""
    ends_with_farewell: bool = False
    """The drafted goodbye follows its reply."""
    inputs: PromptInputs | None = None
    task: asyncio.Task[None] | None = None
    route: Route | None = None
    buffer: TurnBuffer | None = None
    """None until the turn speaks."""
    progress: TurnProgress | None = None
    watch: ReplyWatch | None = None
    caught: Notice | None = None
    """The rule that stopped the reply before its words were shown."""
    result: Answered | Broken | None = None
    """How the engine ended; None if the turn was interrupted."""
    interrupt_reason: Reason | None = None
    """Why the turn was told to end; None while it runs freely."""
    is_closing: bool = False
    """Its own task is storing its end: an interrupt would come too late."""
    still_here_timer: asyncio.TimerHandle | None = None
    """Has the turn read again, and so its *still here* line shown, if no word has come by then."""

    def interrupt(self, reason: Reason) -> bool:
        """Cancel the task once. False: it was interrupted before, or has not started."""
        # Once: a second cancel would hit the code that stores the end.
        if self.interrupt_reason or self.task is None:
            return False
        self.interrupt_reason = reason
        self.task.cancel()
        return True

    def cancel_still_here(self) -> None:
        """Words have come, or the turn is over."""
        if self.still_here_timer is not None:
            self.still_here_timer.cancel()
            self.still_here_timer = None

    def to_end(self, policy: TurnPolicy, *, owner: UUID, is_stored: bool) -> TurnEnd:
        """The end to store. `is_stored`: whether all of its words are stored."""
        result, route = self.result, self.route
        # Interrupted: the calls made until then are recorded all the same.
        if result is None and self.progress is not None:
            result = self.progress.to_broken(FailureClass.CANCELLED)
        failed_along = result.failed_along if result else {}
        given_up = result.given_up if isinstance(result, Answered) else NONE_GIVEN_UP
        return replace(
            self._choose_end(result, policy, is_stored=is_stored),
            flag=self._find_flag(),
            owner=owner,
            fence=self.admission.result().fence if self.admission.done() else None,
            lane=result.lane.name if result else "",
            model=_model_of(result),
            preset=route.preset if route else "",
            routing_version=route.version if route else 0,
            routing_hash=route.file_hash if route else "",
            marked=_is_marked(result, route),
            passed_over=result.passed_over if result else (),
            attempts=result.attempts if result else (),
            answers=self._held_turns(result.held if result else ()),
            tried_along=tuple(zip(self._held_turns(failed_along), failed_along.values(), strict=True)),
            unanswerable=self._held_turns(given_up.unanswerable),
            unasked=self._held_turns(given_up.unasked),
        )

    def _choose_end(
        self, result: Answered | Broken | None, policy: TurnPolicy, *, is_stored: bool
    ) -> TurnEnd:
        """The state, the reason and the drafted line that follow from the result."""
        lines = policy.in_language(self.language).lines
        if isinstance(result, Answered) and is_stored and self.ends_with_farewell and not result.truncated:
            return TurnEnd(
                turn=self.turn,
                state=TurnState.COMPLETE,
                reason=Reason.GOODBYE,
                line=lines.goodbye,
            )
        if isinstance(result, Answered) and is_stored:
            return TurnEnd(
                turn=self.turn,
                state=TurnState.COMPLETE,
                reason=Reason.LENGTH if result.truncated else Reason.WHOLE,
                line=lines.shortened if result.truncated else "",
                shortened=result.truncated,
            )
        if self.caught:
            return TurnEnd(turn=self.turn, state=TurnState.PAUSED, reason=Reason.CAUGHT, line=lines.declined)
        if isinstance(result, Broken) and result.failure is FailureClass.REFUSED:
            # Asked again, the question would be refused again, so it is not held. The words already said stay.
            return TurnEnd(turn=self.turn, state=TurnState.PAUSED, reason=result.failure, line=lines.declined)
        # Also an answer whose last words could not be stored: they were never shown, so it is a pause.
        reason: Reason | FailureClass = self.interrupt_reason or Reason.FAULT
        if isinstance(result, Broken) and result.failure is not FailureClass.CANCELLED:
            reason = result.failure
        return TurnEnd(
            turn=self.turn,
            state=TurnState.PAUSED,
            reason=reason if is_stored else Reason.UNSTORED,
            line=lines.pause,
            hold_s=policy.hold_s,
        )

    def _find_flag(self) -> FlagCause | None:
        """What the rules noticed in the reply."""
        notice = self.caught or (self.watch.finish() if self.watch else None)
        if notice is None:
            return None
        return notice.to_cause(FlagSource.REPLY, conversation=self.conversation, turn=self.turn)

    def _held_turns(self, places: Iterable[int]) -> tuple[int, ...]:
        """The held turns at these places of the draft."""
        return tuple(self.inputs.held[place][0] for place in places) if self.inputs else ()


def log_end(end: TurnEnd, *, ended_here: bool) -> None:
    """Write one line for each turn: which lane answered, and why others were passed over."""
    log.info(
        "turn.ended turn=%d state=%s reason=%s lane=%s preset=%s version=%d attempts=%d skipped=%s",
        end.turn,
        end.state if ended_here else "ended_elsewhere",
        end.reason if ended_here and end.reason else "-",
        end.lane or "-",
        end.preset or "-",
        end.routing_version,
        len(end.attempts),
        ",".join(f"{skipped.lane}:{skipped.why}" for skipped in end.passed_over) or "-",
    )


def _is_marked(result: Answered | Broken | None, route: Route | None) -> bool:
    """Whether the reply is marked as reduced: by the lane that answered or was called last, or by the preset."""
    if route is None:
        return False
    return route.marks(result.lane) if result else route.marking == "reduced"


def _model_of(result: Answered | Broken | None) -> str:
    """The model that said the words; empty if there were none."""
    if isinstance(result, Answered):
        return result.model
    last = result.attempts[-1] if result and result.attempts else None
    return last.model if last and last.words else ""
