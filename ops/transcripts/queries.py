"""The queries of whole turns, half answers included, for staff alone: pages and commands share them.

A participant's pages, prompts and exports read through `companion.history`, which hides half answers.
Callers record the reading first; see `ops.audit`.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Coalesce, Now

from companion.models import Attempt, Process, ReplyChunk, Turn
from companion.states import Settlement, TurnState
from ops.transcripts.lists import find_turns
from ops.transcripts.records import AttemptRecord, TurnEntry, TurnList, TurnPage, TurnRecord

PER_PAGE = 30


def list_turns(
    name: TurnList,
    *,
    sites: Collection[int],
    everywhere: bool = False,
    after: int | None = None,
    size: int = PER_PAGE,
) -> TurnPage:
    """A page of a list, for these sites: live and held turns oldest first, the others newest first.

    `everywhere`: the reader sees every site there is.
    """
    # One more than a page, to know whether there are further ones without counting them.
    ids = find_turns(name, sites=sites, everywhere=everywhere, after=after, size=size + 1)
    shown = {row.pk: row for row in _located().filter(id__in=ids[:size])}
    return TurnPage(
        entries=tuple(_entry(shown[turn]) for turn in ids[:size] if turn in shown),
        further=ids[size - 1] if len(ids) > size else None,
    )


def get_participant_id(turn: int) -> int | None:
    """The id of the participant whose turn this is; None where there is no such turn. Checks no access."""
    found = Turn.objects.filter(pk=turn).values_list("conversation__participant_id", flat=True).first()
    return None if found is None else int(found)


def get_turn(turn: int, *, sites: Collection[int]) -> TurnRecord | None:
    """One turn; None unless it belongs to one of these sites."""
    found = _fetch(_located().filter(id=turn, conversation__participant__site__in=sites))
    return found[0] if found else None


def list_turns_of(participant: int) -> list[TurnRecord]:
    """Every turn of a participant, oldest first."""
    return _fetch(_located().filter(conversation__participant=participant))


def list_turns_before(conversation: int, before: int | None, *, size: int) -> tuple[list[TurnRecord], bool]:
    """The last turns of a conversation before the turn `before`, oldest first; and whether there are earlier ones.

    Checks no access.
    """
    turns = Turn.objects.filter(conversation=conversation)
    if before is not None:
        turns = turns.filter(id__lt=before)
    # The ids first: the subqueries of `_fetch` then run for one page of turns.
    ids = list(turns.order_by("-id").values_list("id", flat=True)[: size + 1])
    return _fetch(_located().filter(id__in=ids[:size])), len(ids) > size


def get_turn_time(conversation: int, *, since: int) -> datetime | None:
    """When the first turn of a conversation from this id on was asked; None where there is none."""
    turns = Turn.objects.filter(conversation=conversation, id__gte=since).order_by("id")
    return turns.values_list("created_at", flat=True).first()


# The same conditions as `companion.turn_conditions`, for the ORM.
_UNANSWERED = Q(state=TurnState.PAUSED, answered_by=None, settled=Settlement.NOT)
_EXPIRED = _UNANSWERED & Q(held_until__lte=Now())


def _located() -> QuerySet[Turn, Any]:
    return Turn.objects.select_related("conversation__participant__site").annotate(
        is_expired=Case(When(_EXPIRED, then=Value(True)), default=Value(False))
    )


def _fetch(turns: QuerySet[Turn, Any]) -> list[TurnRecord]:
    # One statement reads chunks and reply: if the turn closed between two statements, every word would be missed.
    chunks = ReplyChunk.objects.filter(turn_id=OuterRef("pk")).order_by().values("turn_id")
    said = chunks.annotate(said=StringAgg("text", "", order_by="seq")).values("said")
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
    return [_record(row) for row in rows]


def _record(row: Any) -> TurnRecord:
    person = row.conversation.participant
    return TurnRecord(
        id=row.pk,
        key=row.key,
        conversation=row.conversation_id,
        participant=person.pk,
        participant_name=person.name,
        site=person.site_id,
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
        easy_words=row.easy_words,
        attempts=_attempt_records(row.attempts.all()),
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


def _attempt_records(attempts: Iterable[Attempt]) -> tuple[AttemptRecord, ...]:
    return tuple(
        AttemptRecord(
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


def _entry(row: Any) -> TurnEntry:
    person = row.conversation.participant
    return TurnEntry(
        id=row.pk,
        participant=person.pk,
        participant_name=person.name,
        site=person.site_id,
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
