"""The one read of whole turns, half answers included, for staff alone: the page and the commands share it.

A participant's pages, prompts and exports read through `companion.history`, which hides half answers.
Whoever calls this puts it on record first; see `ops.desk.audit`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Now

from companion.models import Attempt, Participant, Process, Spoken, Turn
from companion.states import State

PER_PAGE = 30


class Shelf(StrEnum):
    """The lists that turns are looked through by."""

    PAUSED = "paused"
    HELD = "held"
    EXPIRED = "expired"
    REFUSED = "refused"
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One attempt. Times in seconds; `started_s` counts from the moment the turn began to speak."""

    number: int
    lane: str
    model: str
    failure: str
    """A failure class; empty when the reply was whole."""
    status: int | None
    code: str
    waited_s: float
    started_s: float
    took_s: float
    bytes_received: int
    words: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """Everything that is known of one turn."""

    id: int
    key: UUID
    participant: int
    participant_name: str
    site_name: str
    state: str
    reason: str
    question: str
    openings: tuple[dict[str, str], ...]
    reply: str
    """Every word that was said, of a half answer too."""
    seq: int
    line: str
    """The drafted line that stands at the end; empty if none does."""
    shortened: bool
    lane: str
    model: str
    preset: str
    routing_version: int
    persona_version: str
    attempts: tuple[Tried, ...]
    held_until: datetime | None
    is_expired: bool
    """The hold has run out, and nothing has answered the question."""
    answered_by: int | None
    answers: tuple[int, ...]
    """The turns whose held questions this reply answered."""
    owner: UUID
    owner_heard_at: datetime | None
    """The last heartbeat of the process that serves, or served, this turn; None when it is long gone."""
    created_at: datetime
    wait_until: datetime
    admitted_at: datetime | None
    first_word_at: datetime | None
    closed_at: datetime | None

    @property
    def is_held(self) -> bool:
        """Whether the next message will be answered after this question."""
        return self.held_until is not None and self.answered_by is None and not self.is_expired

    @property
    def is_live(self) -> bool:
        """Whether it still goes on."""
        return self.closed_at is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One turn in a list: how it stands, and no word of it."""

    id: int
    participant_name: str
    site_name: str
    state: str
    reason: str
    created_at: datetime
    closed_at: datetime | None
    held_until: datetime | None
    is_expired: bool
    answered_by: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Part of a list; `further` is the id to go on after, None at its end."""

    entries: tuple[Entry, ...]
    further: int | None


def shelf(which: Shelf, *, sites: Sequence[int], after: int | None = None, size: int = PER_PAGE) -> Page:
    """A page of a list, for these sites: held questions oldest first, everything else newest first."""
    turns = _placed().filter(_ON[which], conversation__participant__site__in=sites)
    oldest_first = which is Shelf.HELD
    if after is not None:
        turns = turns.filter(id__gt=after) if oldest_first else turns.filter(id__lt=after)
    rows = list(turns.order_by("id" if oldest_first else "-id")[: size + 1])
    return Page(
        entries=tuple(_entry(row) for row in rows[:size]),
        further=rows[size - 1].pk if len(rows) > size else None,
    )


def story(turn: int, *, sites: Sequence[int]) -> Story | None:
    """One turn, if it is of one of these sites."""
    found = _whole(_placed().filter(id=turn, conversation__participant__site__in=sites))
    return found[0] if found else None


def stories_of(participant: int) -> list[Story]:
    """Every turn of a participant, oldest first."""
    return _whole(_placed().filter(conversation__participant=participant))


def people_named(name: str, *, site: str | None = None, number: int | None = None) -> list[Participant]:
    """The participants of this name, those who have left too, by id."""
    people = Participant.objects.select_related("site").filter(name__iexact=name)
    if site is not None:
        people = people.filter(site__slug=site)
    if number is not None:
        people = people.filter(id=number)
    return list(people.order_by("id"))


_RUN_OUT = Q(state=State.PAUSED, answered_by=None, held_until__lte=Now())
_ON = {
    Shelf.PAUSED: Q(state=State.PAUSED),
    Shelf.HELD: Q(state=State.PAUSED, answered_by=None, held_until__gt=Now()),
    Shelf.EXPIRED: _RUN_OUT,
    Shelf.REFUSED: Q(state=State.REFUSED),
    Shelf.STOPPED: Q(state=State.STOPPED),
}


def _placed() -> QuerySet[Turn, Any]:
    return Turn.objects.select_related("conversation__participant__site").annotate(
        is_expired=Case(When(_RUN_OUT, then=Value(True)), default=Value(False))
    )


def _whole(turns: QuerySet[Turn, Any]) -> list[Story]:
    # Pieces and reply are read by one statement: a fold between two of them would lose every word.
    pieces = Spoken.objects.filter(turn_id=OuterRef("pk")).order_by().values("turn_id")
    said = pieces.annotate(said=StringAgg("text", "", ordering="seq")).values("said")
    heard = Process.objects.filter(id=OuterRef("owner")).values("beat_at")
    rows = list(
        turns.annotate(
            whole=Case(When(closed_at=None, then=Coalesce(Subquery(said), Value(""))), default=F("reply")),
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
        lane=row.lane,
        model=row.model,
        preset=row.preset,
        routing_version=row.routing_version,
        persona_version=row.persona_version,
        attempts=_tried(row.attempts.all()),
        held_until=row.held_until,
        is_expired=row.is_expired,
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
        answered_by=row.answered_by_id,
    )
