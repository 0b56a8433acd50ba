"""What a turn that has run comes to: how it ends, and its story. PURE."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from companion.doubt import NOTHING
from companion.engine import Answered, Broken
from companion.prompt_inputs import PromptInputs
from companion.states import Reason, TurnState
from companion.turn_close import Ending
from companion.turn_policy import TurnPolicy
from companion.turn_record import Story
from routing.chain import Route
from routing.errors import FailureClass

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Everything its task knows of a turn in the end."""

    turn: int
    owner: UUID
    fence: int | None
    result: Answered | Broken | None
    """Broken with CANCELLED: it was ended from outside, or by a fault of this program."""
    told: Reason | None
    """Why it was told to end; None if it was not."""
    stored: bool
    """Whether all its words are stored."""
    shown: int | None
    """The last piece that anyone was shown; None if there was no word."""
    route: Route | None
    material: PromptInputs | None


def story_of(outcome: Outcome, policy: TurnPolicy) -> Story:
    """What is to be recorded."""
    result, route = outcome.result, outcome.route
    failed = result.failed_along if result else {}
    given_up = result.given_up if isinstance(result, Answered) else NOTHING
    return Story(
        ending=_ending(outcome, policy),
        lane=result.lane.name if result else "",
        model=_model_of(result),
        preset=route.preset if route else "",
        routing_version=route.version if route else 0,
        routing_hash=route.file_hash if route else "",
        marked=_is_marked(result, route),
        passed_over=result.passed_over if result else (),
        attempts=result.attempts if result else (),
        answers=_held_at(outcome, result.held if result else ()),
        tried_along=tuple(zip(_held_at(outcome, failed), failed.values(), strict=True)),
        unanswerable=_held_at(outcome, given_up.unanswerable),
        unasked=_held_at(outcome, given_up.unasked),
    )


def log_story(story: Story, *, ended_here: bool) -> None:
    """One line for each turn: which lane answered, and why others were passed over."""
    log.info(
        "turn.ended turn=%d state=%s reason=%s lane=%s preset=%s version=%d attempts=%d skipped=%s",
        story.ending.turn,
        story.ending.state if ended_here else "ended_elsewhere",
        story.ending.reason if ended_here and story.ending.reason else "-",
        story.lane or "-",
        story.preset or "-",
        story.routing_version,
        len(story.attempts),
        ",".join(f"{one.lane}:{one.why}" for one in story.passed_over) or "-",
    )


def _ending(outcome: Outcome, policy: TurnPolicy) -> Ending:
    result, owner, fence = outcome.result, outcome.owner, outcome.fence
    if isinstance(result, Answered) and outcome.stored:
        return Ending(
            turn=outcome.turn,
            state=TurnState.COMPLETE,
            reason=Reason.LENGTH if result.truncated else Reason.WHOLE,
            line=policy.lines.shortened if result.truncated else "",
            shortened=result.truncated,
            owner=owner,
            fence=fence,
        )
    if isinstance(result, Broken) and result.failure is FailureClass.REFUSED:
        # Asking again would be refused again, so this question is not held; what was said stands.
        return Ending(
            turn=outcome.turn,
            state=TurnState.PAUSED,
            reason=result.failure,
            line=policy.lines.declined,
            owner=owner,
            fence=fence,
        )
    reason: Reason | FailureClass = outcome.told or Reason.FAULT
    if isinstance(result, Broken) and result.failure is not FailureClass.CANCELLED:
        reason = result.failure
    return Ending(
        turn=outcome.turn,
        state=TurnState.PAUSED,
        reason=reason if outcome.stored else Reason.UNSTORED,
        line=policy.lines.pause,
        hold_s=policy.hold_s,
        shown=outcome.shown if not outcome.stored else None,
        owner=owner,
        fence=fence,
    )


def _held_at(outcome: Outcome, places: Iterable[int]) -> tuple[int, ...]:
    """The held turns at these places of the draft."""
    return tuple(outcome.material.held[place][0] for place in places) if outcome.material else ()


def _is_marked(result: Answered | Broken | None, route: Route | None) -> bool:
    """By the lane that answered or was asked last, or by the preset."""
    if route is None:
        return False
    return route.marks(result.lane) if result else route.marking == "reduced"


def _model_of(result: Answered | Broken | None) -> str:
    """The model that spoke, if one did."""
    if isinstance(result, Answered):
        return result.model
    last = result.attempts[-1] if result and result.attempts else None
    return last.model if last and last.words else ""
