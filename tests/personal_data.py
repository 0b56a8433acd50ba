"""What tests of personal data do: give a participant a row in every table."""

import uuid
from datetime import timedelta
from typing import Any

from django.utils import timezone

from companion.models import (
    Draft,
    Flag,
    FlagStep,
    ReplyChunk,
    StaffPause,
    TranscriptEntry,
    Turn,
    Visit,
)
from companion.needs import store
from ops.models import StatedReason
from tests.people import Person, in_database

SECRET = "the blue kettle"


def named(person: Person) -> tuple[str, ...]:
    return (person.row.name, "--number", str(person.row.pk))


def add_turn(person: Person, question: str, *, days_ago: float = 0, **fields: Any) -> Turn:
    at = timezone.now() - timedelta(days=days_ago)
    facts = {
        "conversation": person.conversation,
        "key": uuid.uuid4(),
        "question": question,
        "state": "complete",
        "reply": f"About {question}.",
        "owner": "00000000-0000-0000-0000-000000000001",
        "persona_version": "1",
        "wait_until": at,
        "created_at": at,
        "closed_at": at,
        **fields,
    }
    return in_database(lambda: Turn.objects.create(**facts))


def fill(person: Person) -> Flag:
    """Give a participant a row in every table that holds something of theirs."""
    earlier = add_turn(person, SECRET, days_ago=40)
    later = add_turn(person, "What came of it?", answered_by=earlier)
    return in_database(lambda: _fill(person, later))


def _fill(person: Person, turn: Turn) -> Flag:
    ReplyChunk.objects.create(turn_id=turn.pk, seq=1, text=SECRET)
    visit = Visit.objects.create(participant=person.row, expires_at=timezone.now() + timedelta(hours=1))
    Draft.objects.create(conversation=person.conversation, visit=visit.pk, text=SECRET)
    TranscriptEntry.objects.create(
        conversation=person.conversation, kind="said", name="Sam", text=SECRET, after_turn=turn.pk
    )
    flag = Flag.objects.create(
        tier="red",
        kind="help",
        source="button",
        conversation=person.conversation,
        participant=person.row.pk,
        site=person.row.site,
        turn=turn.pk,
    )
    FlagStep.objects.create(flag=flag, what="noted", who="Sam", note=SECRET)
    store.change_needs(person.row.pk, {"type_percent": 200, "easy_words": True}, by="sam")
    _add_reasons(person, SECRET)
    return flag


def _add_reasons(person: Person, reason: str) -> None:
    """What staff typed about a participant outside their conversation."""
    StaffPause.objects.create(scope="person", about=person.row.pk, reason=reason, by_name="Sam")
    StatedReason.objects.create(
        staff=1,
        name="Ines",
        conversation=person.conversation.pk,
        participant=person.row.pk,
        site=person.row.site,
        reason=reason,
        until=timezone.now() + timedelta(hours=1),
    )


def add_old_visit(person: Person) -> None:
    at = timezone.now() - timedelta(days=50)
    Visit.objects.create(participant=person.row, opened_at=at, expires_at=at + timedelta(days=1))
