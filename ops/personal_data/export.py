"""A participant's export: one page of HTML that a browser opens and prints, with the name of who speaks in every line.

Half answers are not in it: it is read through `companion.history`, as the participant's own page is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone

from companion.history import read_since
from companion.machines.models import OfferAnswer
from companion.models import (
    Conversation,
    Flag,
    FlagStep,
    Participant,
    TranscriptEntry,
    Turn,
    Visit,
    VisitOffer,
)
from companion.needs import store
from companion.supervision.states import EntryKind
from companion.turn_policy import TurnPolicy
from ops.character import get_persona
from ops.people.needs import describe_needs
from ops.personal_data.job_progress import OnProgress, ignore_progress
from ops.transcripts.visit_text import END_REASONS, PAST_OFFERS, WAYS

UNSEEN_STATES = frozenset({"waiting", "speaking"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedLine:
    """One line of the conversation. `speaker` is empty for a drafted line of the service."""

    at: datetime | None
    speaker: str
    text: str
    is_drafted: bool = False


def export_person(
    person: Participant, policy: TurnPolicy, *, with_notes: bool, on_progress: OnProgress = ignore_progress
) -> Iterator[str]:
    """The pieces of the page. `with_notes` adds what staff wrote about flags; participants' copies leave it out.

    `on_progress` is given the turns that were read.
    """
    facts = {
        "person": person,
        "site": person.site,
        "character": policy.character,
        "made_at": timezone.now(),
        "with_notes": with_notes,
    }
    yield render_to_string("ops/export_head.html", facts)
    conversation = Conversation.objects.filter(participant=person).values_list("pk", flat=True).first()
    if conversation is not None:
        for lines in _list_lines(person, policy, conversation, on_progress):
            yield render_to_string("ops/_export_lines.html", {"lines": lines})
    yield render_to_string(
        "ops/export_foot.html",
        {
            **facts,
            "needs": _list_needs(person),
            "visits": _list_visits(person),
            "offers": _list_offers(person),
            "flags": list(_list_flags(conversation, with_notes=with_notes)),
        },
    )


def _list_needs(person: Participant) -> dict[str, Any] | None:
    """Every field of the record of needs, as it is stored, with who set it and its day of review."""
    record = store.find_needs(person.pk)
    if record is None:
        return None
    return {"record": record, "words": describe_needs(record, get_persona().choices)}


def _list_visits(person: Participant) -> Iterator[dict[str, Any]]:
    visits = Visit.objects.filter(participant=person).select_related("machine").order_by("opened_at")
    for visit in visits.iterator():
        way, end = WAYS.get(visit.way, ""), END_REASONS.get(visit.end_reason, "")
        yield {"visit": visit, "way": way, "end": end}


def _list_offers(person: Participant) -> Iterator[dict[str, Any]]:
    offers = VisitOffer.objects.filter(participant=person).select_related("machine").order_by("id")
    for offer in offers.iterator():
        # An offer that was not answered is stored as open until the next one on its machine.
        state = offer.answer or (OfferAnswer.EXPIRED if offer.expires_at <= timezone.now() else "open")
        yield {"offer": offer, "says": PAST_OFFERS[state]}


def _list_lines(
    person: Participant, policy: TurnPolicy, conversation: int, on_progress: OnProgress
) -> Iterator[list[ExportedLine]]:
    """The lines of the conversation in pages, in the order in which they were shown."""
    total, read, last = Turn.objects.filter(conversation=conversation).count(), 0, 0
    yield _list_entries(policy, conversation, after=-1, upto=0)
    while page := [item for item in read_since(policy, conversation, last) if "id" in item]:
        times = dict(
            Turn.objects.filter(pk__in=[item["id"] for item in page]).values_list("pk", "created_at")
        )
        lines: list[ExportedLine] = []
        for item in page:
            lines += _list_turn_lines(item, person.name, policy.character, times.get(item["id"]))
            lines += _list_entries(policy, conversation, after=last, upto=item["id"])
            last = item["id"]
        yield lines
        read += len(page)
        on_progress(read, max(total, read))
    yield _list_entries(policy, conversation, after=last, upto=None)


def _list_turn_lines(
    item: dict[str, Any], name: str, character: str, at: datetime | None
) -> Iterator[ExportedLine]:
    yield ExportedLine(at=at, speaker=name, text=item["question"])
    for opening in item["openings"]:
        yield ExportedLine(at=None, speaker=character, text=opening["line"], is_drafted=True)
    if item["reply"] and item["state"] not in UNSEEN_STATES:
        yield ExportedLine(at=None, speaker=character, text=item["reply"])
    if item["line"] and item["state"] not in UNSEEN_STATES:
        yield ExportedLine(at=None, speaker="", text=item["line"], is_drafted=True)


def _list_entries(
    policy: TurnPolicy, conversation: int, *, after: int, upto: int | None
) -> list[ExportedLine]:
    # What was disclosed stands in the openings of its turn.
    entries = TranscriptEntry.objects.exclude(kind=EntryKind.DISCLOSURE)
    entries = entries.filter(conversation=conversation, after_turn__gt=after)
    if upto is not None:
        entries = entries.filter(after_turn__lte=upto)
    return [
        ExportedLine(
            at=entry.at,
            speaker=entry.name if entry.kind == EntryKind.SAID else "",
            text=entry.text,
            is_drafted=entry.kind != EntryKind.SAID,
        )
        for entry in entries.order_by("id")
    ]


def _list_flags(conversation: int | None, *, with_notes: bool) -> Iterator[dict[str, Any]]:
    for flag in Flag.objects.filter(conversation=conversation, conversation__isnull=False).order_by("id"):
        steps = FlagStep.objects.filter(flag=flag).exclude(note="").order_by("id") if with_notes else ()
        yield {"flag": flag, "notes": [(step.at, step.who, step.note) for step in steps]}
