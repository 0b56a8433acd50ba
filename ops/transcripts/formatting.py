"""PURE. Tells a turn's whole story: as a document for programs, as lines for a terminal, as a next step in words."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext

from companion.states import Settlement, TurnState
from ops.catalogue_marks import gettext_noop
from ops.text import escape_controls, format_duration, format_time
from ops.transcripts.records import AttemptRecord, TurnRecord
from ops.transcripts.text import explain_reason

TIMES = ("created_at", "wait_until", "admitted_at", "first_word_at", "closed_at")


def build_document(story: TurnRecord) -> dict[str, Any]:
    """A turn with every field, as JSON can hold it. Times are ISO 8601 in UTC; durations are in seconds."""
    return {
        "id": story.id,
        "key": str(story.key),
        "state": story.state,
        "reason": story.reason,
        "question": story.question,
        "reply": story.reply,
        "lines": list(list_shown_lines(story)),
        "openings": [dict(opening) for opening in story.openings],
        "line": story.line,
        "seq": story.seq,
        "shortened": story.shortened,
        "marked": story.marked,
        "skipped": [dict(lane) for lane in story.skipped],
        "lane": story.lane,
        "model": story.model,
        "preset": story.preset,
        "routing_version": story.routing_version,
        "persona_version": story.persona_version,
        "easy_words": story.easy_words,
        "attempts": [asdict(attempt) for attempt in story.attempts],
        "held_until": _iso(story.held_until),
        "is_held": story.is_held,
        "is_expired": story.is_expired,
        "settled": story.settled,
        "answered_by": story.answered_by,
        "answers": list(story.answers),
        "owner": str(story.owner),
        "owner_heard_at": _iso(story.owner_heard_at),
        **{name: _iso(getattr(story, name)) for name in TIMES},
    }


def list_shown_lines(story: TurnRecord) -> Iterator[str]:
    """The drafted lines the participant was shown with this turn, in order."""
    if story.first_word_at is not None:
        yield from (opening["line"] for opening in story.openings)
    if story.line:
        yield story.line


def format_turn(story: TurnRecord) -> str:
    """A turn for a person at a terminal. What people wrote cannot steer the terminal."""
    return "\n".join(_lines(story))


SETTLED: Mapping[str, str] = MappingProxyType(
    {
        Settlement.ASKED_AGAIN: gettext_noop(
            "Nothing. Its hold was over, and the participant asked it again as a new turn."
        ),
        Settlement.LET_GO: gettext_noop("Nothing. Its hold was over, and the participant let it go."),
        Settlement.UNANSWERABLE: (
            gettext_noop(
                "Nothing. Asked along with later messages it failed again, so it is not asked any more, and the "
                "participant was told. A person may want to talk about it."
            )
        ),
    }
)
"""What became of a question that was settled without an answer."""


def describe_next_step(story: TurnRecord) -> str:
    """What happens next with this turn's question, in plain words."""
    match story.state:
        case TurnState.WAITING:
            return gettext("It waits for a place, in order of arrival.")
        case TurnState.SPEAKING:
            return gettext("The reply is being said now.")
        case TurnState.COMPLETE:
            return gettext("Nothing. The reply is whole.")
        case TurnState.STOPPED:
            return gettext("Nothing. What was said stays, and the question is not held.")
        case TurnState.REFUSED:
            return gettext("Nothing. The participant was told to try again; no provider was asked.")
        case TurnState.HANDED_OVER:
            return gettext("A member of staff has taken over.")
    if story.answered_by is not None:
        return gettext("Nothing. Turn {number} answered this question.").format(number=story.answered_by)
    if story.settled:
        if known := SETTLED.get(story.settled):
            return gettext(known)
        return gettext("Nothing. The question was settled: {how}.").format(how=story.settled)
    if story.is_expired:
        return gettext(
            "The question was held until {at} and is no longer answered by itself. "
            "For a while (COMPANION_KEEP_S) the page offers it back, to ask again or to let go; then it is here alone. "
            "A person may want to ask after it."
        ).format(at=format_time(story.held_until))
    if story.held_until is not None:
        return gettext(
            "The question is held until {at}. The next message opens with the "
            "“I am back” line, and this question is answered first."
        ).format(at=format_time(story.held_until))
    return gettext("Nothing. The question is not held, because asking again would be refused again.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of a turn: when it was, and how many seconds after the question; or what to say if it never was."""

    name: str
    at: datetime | None
    after_s: float
    otherwise: str


def list_steps(story: TurnRecord) -> list[Step]:
    """A turn's steps in order, from the question to its end."""
    return [
        Step(
            name=name,
            at=at,
            after_s=(at - story.created_at).total_seconds() if at else 0.0,
            otherwise=otherwise,
        )
        for name, at, otherwise in (
            (gettext("Asked"), story.created_at, ""),
            (gettext("Got a place"), story.admitted_at, gettext("never")),
            (gettext("First word"), story.first_word_at, gettext("none")),
            (gettext("Ended"), story.closed_at, gettext("not yet")),
        )
    ]


def format_skipped_lane(lane: Mapping[str, Any]) -> str:
    """A lane that its breaker barred, why and until when, and whether it was tried nevertheless."""
    sentence = (
        gettext("{lane}: {why}, until {at}; tried nevertheless, as every lane was barred")
        if lane["tried"]
        else gettext("{lane}: {why}, until {at}")
    )
    at = format_time(datetime.fromisoformat(lane["until"]))
    return sentence.format(lane=lane["lane"], why=lane["why"], at=at)


def _lines(story: TurnRecord) -> Iterator[str]:
    ended = f", {format_time(story.closed_at)}" if story.closed_at else ""
    yield f"Turn {story.id}: {story.state}{ended}"
    if story.reason:
        yield f"  why          {story.reason}: {explain_reason(story.reason)}"
    yield f"  asked        {format_time(story.created_at)}"
    yield from _quoted("question", story.question)
    for opening in story.openings:
        yield from _quoted("opening line", f"{opening['line']} ({opening['kind']})")
    yield from _quoted("said", story.reply or "(nothing)")
    if story.reply and story.state == TurnState.PAUSED:
        yield "               (a half answer: no longer in the conversation, and never sent to a provider)"
    if story.line:
        yield from _quoted("closing line", story.line)
    if story.preset:
        model = f" ({story.model})" if story.model else ""
        yield f"  lane         {story.lane or 'none'}{model}, preset {story.preset}, version {story.routing_version}"
    for lane in story.skipped:
        yield f"  {'barred':<12} {format_skipped_lane(lane)}"
    yield f"  first word   {format_time(story.first_word_at)}"
    easy = ", asked for easy words" if story.easy_words else ""
    yield f"  character    version {story.persona_version}{easy}"
    for attempt in story.attempts:
        yield f"  attempt {attempt.number:<4} {_attempt(attempt)}"
    if story.answers:
        yield f"  also answers {', '.join(f'turn {turn}' for turn in story.answers)}"
    yield f"  next         {describe_next_step(story)}"


def _attempt(attempt: AttemptRecord) -> str:
    told = f"{attempt.failure}: {explain_reason(attempt.failure)}" if attempt.failure else "whole"
    named = [str(part) for part in (attempt.status, attempt.code) if part]
    return (
        f"{attempt.lane} ({attempt.model}), {told} [{' '.join(named) or 'no answer'}; waited "
        f"{format_duration(attempt.waited_s)}, took {format_duration(attempt.took_s)}, {attempt.bytes_received} bytes, "
        f"{attempt.words} words]"
    )


def _quoted(name: str, words: str) -> Iterator[str]:
    first, *others = escape_controls(words).split("\n")
    yield f"  {name:<12} | {first}"
    yield from (f"  {'':<12} | {line}" for line in others)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()
