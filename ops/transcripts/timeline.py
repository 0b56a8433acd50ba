"""One page of a conversation as staff read it: turns with half answers, entries, flags with notes, visits, offers.

Read newest first, page by page, by index order. Callers record the reading first; see `ops.audit`.
"""

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from companion.machines.models import OfferAnswer
from companion.models import Conversation, Flag, TranscriptEntry, Visit, VisitOffer
from companion.supervision.states import EntryKind
from ops.transcripts.queries import get_turn_time, list_turns_before
from ops.transcripts.records import TurnRecord

PAGE_TURNS = 30
MAX_ENTRIES = 300
MAX_FLAGS = 50
MAX_STEPS = 50
"""Steps of one flag, the newest."""
MAX_VISITS = 20
MAX_OFFERS = 20

Place = list[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineHead:
    """Whose conversation it is."""

    conversation: int
    participant: int
    participant_name: str
    site: int
    site_name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelinePage:
    """`items`, oldest first. `earlier`: the `before` of the page before this one; None on the first."""

    items: tuple[dict[str, Any], ...]
    earlier: int | None


def get_head(conversation: int, *, sites: Collection[int]) -> TimelineHead | None:
    """Whose conversation it is; None unless it belongs to one of these sites."""
    row = (
        Conversation.objects.filter(pk=conversation, participant__site__in=sites)
        .values_list(
            "pk", "participant_id", "participant__name", "participant__site_id", "participant__site__name"
        )
        .first()
    )
    if row is None:
        return None
    return TimelineHead(
        conversation=row[0], participant=row[1], participant_name=row[2], site=row[3], site_name=row[4]
    )


def read_timeline(head: TimelineHead, *, before: int | None = None) -> TimelinePage:
    """The last page of a conversation, or the one before turn `before`.

    Each item is a dict that JSON can hold, with `kind` (turn, entry, flag, visit or offer), `at` (ISO 8601) and
    `place`: items are ordered by it. It is [turn, 0 for the turn itself or 1, milliseconds, number]: what stands after
    the same turn is in the order in which it happened.
    """
    records, has_earlier = list_turns_before(head.conversation, before, size=PAGE_TURNS)
    page = _Page(head.conversation, records, is_first=not has_earlier, before=before)
    items = [
        *(_turn_item(record) for record in records),
        *_entry_items(head, page),
        *_flag_items(head, page),
        *_visit_items(head, page),
        *_offer_items(head, page),
    ]
    items.sort(key=lambda item: item["place"])
    return TimelinePage(items=tuple(items), earlier=records[0].id if has_earlier else None)


def read_flags(flags: Collection[int], *, conversation: int) -> list[dict[str, Any]]:
    """Those of these flags that are of this conversation, as items with their notes."""
    found = Flag.objects.filter(id__in=flags, conversation=conversation).order_by("id")[:MAX_FLAGS]
    # Without a turn, an open page knows where a flag stands, or that it is new.
    places = [_place(flag.turn, flag.opened_at, flag.pk) if flag.turn else None for flag in found]
    return [_flag_item(flag, place=place) for flag, place in zip(found, places, strict=True)]


def _place(turn: int, at: datetime, number: int) -> Place:
    return [turn, 1, int(at.timestamp() * 1000), number]


class _Page:
    """Where entries, flags and visits belong among the turns of a page."""

    def __init__(
        self, conversation: int, records: list[TurnRecord], *, is_first: bool, before: int | None
    ) -> None:
        self.ids = [record.id for record in records]
        self.times = [record.created_at for record in records]
        self.is_first = is_first
        self.before = before
        self.until = None if before is None else get_turn_time(conversation, since=before)
        """Where the page ends in time; None for the last."""

    @property
    def lowest(self) -> int:
        """The first turn of the page; 0 where what stands before all turns belongs to it too."""
        return 0 if self.is_first or not self.ids else self.ids[0]

    @property
    def since(self) -> datetime | None:
        """Where the page begins in time; None for the first."""
        return None if self.is_first or not self.times else self.times[0]

    def turn_before(self, moment: datetime) -> int:
        """The newest turn of the page that is not younger; 0 for none."""
        index = bisect_right(self.times, moment)
        return self.ids[index - 1] if index else 0


def _turn_item(record: TurnRecord) -> dict[str, Any]:
    return {
        "kind": "turn",
        "id": record.id,
        "place": [record.id, 0, 0, 0],
        "at": record.created_at.isoformat(),
        "key": str(record.key),
        "question": record.question,
        "openings": [dict(opening) for opening in record.openings],
        "reply": record.reply,
        "state": record.state,
        "reason": record.reason,
        "line": record.line,
        "seq": record.seq,
    }


def _entry_items(head: TimelineHead, page: _Page) -> list[dict[str, Any]]:
    # What was disclosed stands in the openings of its turn.
    entries = TranscriptEntry.objects.exclude(kind=EntryKind.DISCLOSURE)
    entries = entries.filter(conversation=head.conversation, after_turn__gte=page.lowest)
    if page.before is not None:
        entries = entries.filter(after_turn__lt=page.before)
    newest = entries.order_by("-after_turn", "-id")[:MAX_ENTRIES]
    return [
        {
            "kind": "entry",
            "id": entry.pk,
            "place": _place(entry.after_turn, entry.at, entry.pk),
            "at": entry.at.isoformat(),
            "entry": entry.kind,
            "key": str(entry.key) if entry.key else "",
            "name": entry.name,
            "text": entry.text,
        }
        for entry in newest
    ]


def _flag_items(head: TimelineHead, page: _Page) -> list[dict[str, Any]]:
    flags = Flag.objects.filter(conversation=head.conversation)
    if page.since is not None:
        flags = flags.filter(opened_at__gte=page.since)
    if page.until is not None:
        flags = flags.filter(opened_at__lt=page.until)
    items = []
    for flag in flags.order_by("-id")[:MAX_FLAGS]:
        turn = flag.turn if flag.turn in page.ids else page.turn_before(flag.opened_at)
        items.append(_flag_item(flag, place=_place(turn or 0, flag.opened_at, flag.pk)))
    return items


def _flag_item(flag: Flag, *, place: Place | None) -> dict[str, Any]:
    steps = list(flag.steps.order_by("-id")[:MAX_STEPS])[::-1]
    return {
        "kind": "flag",
        "id": flag.pk,
        "place": place,
        "at": flag.opened_at.isoformat(),
        "tier": flag.tier,
        "about": flag.kind,
        "source": flag.source,
        "turn": flag.turn,
        "count": flag.count,
        "state": flag.state,
        "owner": flag.owner,
        "owner_name": flag.owner_name,
        "handed_to": flag.handed_to,
        "handed_to_name": flag.handed_to_name,
        "outcome": flag.outcome,
        "steps": [
            {"what": step.what, "who": step.who, "note": step.note, "at": step.at.isoformat()}
            for step in steps
        ],
    }


def _visit_items(head: TimelineHead, page: _Page) -> list[dict[str, Any]]:
    visits = Visit.objects.filter(participant=head.participant)
    if page.since is not None:
        visits = visits.filter(expires_at__gte=page.since, opened_at__gte=page.since)
    if page.until is not None:
        visits = visits.filter(opened_at__lt=page.until)
    now = timezone.now()
    return [
        {
            "kind": "visit",
            "id": str(visit.pk),
            "place": _place(page.turn_before(visit.opened_at), visit.opened_at, 0),
            "at": visit.opened_at.isoformat(),
            "ended_at": visit.ended_at.isoformat() if visit.ended_at else None,
            "end_reason": visit.end_reason,
            "is_open": visit.ended_at is None and visit.expires_at > now,
            "is_locked": visit.locked_at is not None
            or (visit.locks_at is not None and visit.locks_at <= now),
            "machine": visit.machine.name if visit.machine else "",
            "opened_by": visit.opened_by,
        }
        for visit in visits.select_related("machine").order_by("-expires_at")[:MAX_VISITS]
    ]


def _offer_items(head: TimelineHead, page: _Page) -> list[dict[str, Any]]:
    offers = VisitOffer.objects.filter(participant=head.participant)
    if page.since is not None:
        offers = offers.filter(offered_at__gte=page.since)
    if page.until is not None:
        offers = offers.filter(offered_at__lt=page.until)
    now = timezone.now()
    return [
        {
            "kind": "offer",
            "id": offer.pk,
            "place": _place(page.turn_before(offer.offered_at), offer.offered_at, offer.pk),
            "at": offer.offered_at.isoformat(),
            "machine": offer.machine.name,
            "by": offer.by_name,
            "state": offer.answer or ("open" if offer.expires_at > now else OfferAnswer.EXPIRED),
        }
        for offer in offers.select_related("machine").order_by("-id")[:MAX_OFFERS]
    ]
