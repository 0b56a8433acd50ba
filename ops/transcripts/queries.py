"""The one read of whole turns, half answers included, for staff alone: the page and the commands share it.

A participant's pages, prompts and exports read through `companion.history`, which hides half answers.
Whoever calls this puts it on record first; see `ops.audit`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Coalesce, Now

from companion.models import Attempt, Process, Spoken, Turn
from companion.states import LIVE, Settlement, TurnState
from ops.transcripts.shapes import Entry, Page, Shelf, Story, Tried

PER_PAGE = 30


def shelf(which: Shelf, *, sites: Sequence[int], after: int | None = None, size: int = PER_PAGE) -> Page:
    """A page of a list, for these sites: what still waits for something oldest first, the rest newest first."""
    turns = _placed().filter(_ON[which], conversation__participant__site__in=sites)
    oldest_first = which in {Shelf.NOW, Shelf.HELD}
    if after is not None:
        turns = turns.filter(id__gt=after) if oldest_first else turns.filter(id__lt=after)
    rows = list(turns.order_by("id" if oldest_first else "-id")[: size + 1])
    return Page(
        entries=tuple(_entry(row) for row in rows[:size]),
        further=rows[size - 1].pk if len(rows) > size else None,
    )


def participant_of(turn: int) -> int | None:
    """The id of the participant whose turn this is, whoever asks; None where there is no such turn."""
    found = Turn.objects.filter(pk=turn).values_list("conversation__participant_id", flat=True).first()
    return None if found is None else int(found)


def story(turn: int, *, sites: Sequence[int]) -> Story | None:
    """One turn, if it is of one of these sites."""
    found = _whole(_placed().filter(id=turn, conversation__participant__site__in=sites))
    return found[0] if found else None


def stories_of(participant: int) -> list[Story]:
    """Every turn of a participant, oldest first."""
    return _whole(_placed().filter(conversation__participant=participant))


# The same conditions as `companion.turn_conditions`, for the ORM.
_UNANSWERED = Q(state=TurnState.PAUSED, answered_by=None, settled=Settlement.NOT)
_RUN_OUT = _UNANSWERED & Q(held_until__lte=Now())
_ON = {
    Shelf.NOW: Q(state__in=sorted(LIVE)),
    Shelf.ANSWERED: Q(state=TurnState.COMPLETE),
    Shelf.PAUSED: Q(state=TurnState.PAUSED),
    Shelf.HELD: _UNANSWERED & Q(held_until__gt=Now()),
    Shelf.EXPIRED: _RUN_OUT,
    Shelf.REFUSED: Q(state=TurnState.REFUSED),
    Shelf.STOPPED: Q(state=TurnState.STOPPED),
}


def _placed() -> QuerySet[Turn, Any]:
    return Turn.objects.select_related("conversation__participant__site").annotate(
        is_expired=Case(When(_RUN_OUT, then=Value(True)), default=Value(False))
    )


def _whole(turns: QuerySet[Turn, Any]) -> list[Story]:
    # Pieces and reply are read by one statement: a fold between two of them would lose every word.
    pieces = Spoken.objects.filter(turn_id=OuterRef("pk")).order_by().values("turn_id")
    said = pieces.annotate(said=StringAgg("text", "", order_by="seq")).values("said")
    heard = Process.objects.filter(id=OuterRef("owner")).values("beat_at")
    rows = list(
        turns.annotate(
            whole=Case(
                When(closed_at=None, then=Coalesce(Subquery(said), Value(""), output_field=TextField())),
                default=F("reply"),
            ),
            owner_heard_at=Subquery(heard),
        )
        .prefetch_related("attempts", "answered")
        .order_by("id")
    )
    return [_story(row) for row in rows]


def _story(row: Any) -> Story:
    person = row.conversation.participant
    return Story(
        id=row.pk,
        key=row.key,
        participant=person.pk,
        participant_name=person.name,
        site_name=person.site.name,
        state=row.state,
        reason=row.reason,
        question=row.question,
        openings=tuple(row.openings),
        reply=row.whole,
        seq=row.seq,
        line=row.line,
        shortened=row.shortened,
        marked=row.marked,
        skipped=tuple(row.skipped),
        lane=row.lane,
        model=row.model,
        preset=row.preset,
        routing_version=row.routing_version,
        persona_version=row.persona_version,
        attempts=_tried(row.attempts.all()),
        held_until=row.held_until,
        is_expired=row.is_expired,
        settled=row.settled,
        answered_by=row.answered_by_id,
        answers=tuple(sorted(held.pk for held in row.answered.all())),
        owner=row.owner,
        owner_heard_at=row.owner_heard_at,
        created_at=row.created_at,
        wait_until=row.wait_until,
        admitted_at=row.admitted_at,
        first_word_at=row.first_word_at,
        closed_at=row.closed_at,
    )


def _tried(attempts: Iterable[Attempt]) -> tuple[Tried, ...]:
    return tuple(
        Tried(
            number=attempt.number,
            lane=attempt.lane,
            model=attempt.model,
            failure=attempt.failure,
            status=attempt.status,
            code=attempt.code,
            waited_s=attempt.waited_s,
            started_s=attempt.started_s,
            took_s=attempt.took_s,
            bytes_received=attempt.bytes_received,
            words=attempt.words,
        )
        for attempt in sorted(attempts, key=lambda attempt: attempt.number)
    )


def _entry(row: Any) -> Entry:
    person = row.conversation.participant
    return Entry(
        id=row.pk,
        participant_name=person.name,
        site_name=person.site.name,
        state=row.state,
        reason=row.reason,
        created_at=row.created_at,
        closed_at=row.closed_at,
        held_until=row.held_until,
        is_expired=row.is_expired,
        settled=row.settled,
        answered_by=row.answered_by_id,
        openings=len(row.openings),
    )
