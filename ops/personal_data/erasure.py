"""Erases a participant: first the record that it happens, then every row that holds their words, name or times.

It may be killed at any moment. The `Erasure` row stays unfinished, and the next run, or the start of a web
process, goes on. What remains are numbers: in the audit record, in counts of flags, and in the list of erasures.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from companion.access import end_visits
from companion.models import Conversation, Draft, Flag, Needs, Participant, TranscriptEntry, Turn, Visit
from ops import audit
from ops.changes import ChangeRefused
from ops.models import Erasure, SafeguardingHold
from ops.people import lookup
from ops.personal_data import erasure_list, holds
from ops.personal_data.erasure_list import ErasedPerson
from ops.personal_data.turn_deletion import delete_oldest_turns

log = logging.getLogger(__name__)

TURNS_AT_ONCE = 500

DELETE_STEPS = """
DELETE FROM companion_flagstep WHERE flag_id IN (SELECT id FROM companion_flag WHERE conversation_id = %s)
"""
# Counts and times of flags stay for the figures, without the participant's number.
ANONYMIZE_FLAGS = "UPDATE companion_flag SET participant = 0, turn = NULL WHERE conversation_id = %s"
DELETE_CONTROL = "DELETE FROM companion_control WHERE conversation_id = %s"
# Reasons that staff typed: they may name the participant or say what happened.
DELETE_REASONS = """
DELETE FROM ops_statedreason WHERE participant = %(participant)s AND site_id = %(site)s
"""
DELETE_PAUSES = "DELETE FROM companion_staffpause WHERE scope = 'person' AND about = %(participant)s"


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasurePlan:
    """How many rows of a participant there are, by what they hold."""

    turns: int
    entries: int
    visits: int
    flags: int
    drafts: int
    needs: int


def plan_erasure(person: Participant) -> ErasurePlan:
    """Count what an erasure would delete. Raises ChangeRefused under a hold."""
    _refuse_held(person)
    of_person = {"conversation__participant": person}
    return ErasurePlan(
        turns=Turn.objects.filter(**of_person).count(),
        entries=TranscriptEntry.objects.filter(**of_person).count(),
        visits=Visit.objects.filter(participant=person).count(),
        flags=Flag.objects.filter(**of_person).count(),
        drafts=Draft.objects.filter(**of_person).count(),
        needs=Needs.objects.filter(participant=person).count(),
    )


def erase(
    person: Participant, *, by: str, lists: list[Path], on_progress: Callable[[int], None] = lambda _: None
) -> None:
    """Erase a participant. `lists` are the files that must know first; `on_progress` is given the turns deleted so far.

    Raises ChangeRefused under a hold. After any other failure a further call goes on.
    """
    try:
        erasure = _begin(person, by=by)
    except Participant.DoesNotExist:
        # Another process erased them a moment ago: two may start at once beside the same list.
        return
    entry = _to_entry(erasure)
    for path in lists:
        erasure_list.add_to_list(path, [entry])
    _delete_everything(person, on_progress)
    if erasure.finished_at is None:
        erasure.finished_at = timezone.now()
        erasure.save(update_fields=["finished_at"])
    log.info("erasure.finished participant=%d", person.pk)


def finish_erasures(lists: list[Path]) -> int:
    """Go on with erasures that were interrupted, and return how many there were."""
    unfinished = list(Erasure.objects.filter(finished_at=None).order_by("id")[:100])
    for erasure in unfinished:
        person = Participant.objects.filter(pk=erasure.participant, created_at=erasure.added_at).first()
        if person is not None:
            erase(person, by=erasure.by, lists=lists)
        else:
            erasure.finished_at = timezone.now()
            erasure.save(update_fields=["finished_at"])
    return len(unfinished)


def forget_again(people: list[ErasedPerson], *, by: str, lists: list[Path]) -> int:
    """Erase those of the list who are in the database, because it was restored from an older backup.

    Holds of that older time do not count: the erasure came after them. Returns how many were erased.
    """
    numbers = {person.identity for person in people}
    found = Participant.objects.filter(pk__in={number for number, _ in numbers})
    back = [person for person in found if (person.pk, person.created_at) in numbers]
    for person in back:
        SafeguardingHold.objects.filter(participant=person).delete()
        erase(person, by=by, lists=lists)
        audit.record(audit.FORGOT_AGAIN, who=by, about=person.pk)
    return len(back)


def list_erased() -> list[ErasedPerson]:
    """Every erasure that the database knows, oldest first."""
    return [_to_entry(erasure) for erasure in Erasure.objects.order_by("id")]


@transaction.atomic
def _begin(person: Participant, *, by: str) -> Erasure:
    person = lookup.lock_participant(person)
    _refuse_held(person)
    erasure, is_new = Erasure.objects.get_or_create(
        participant=person.pk, added_at=person.created_at, defaults={"by": by}
    )
    if is_new:
        audit.record(
            audit.ERASED_PERSON,
            who=by,
            about=person.pk,
            note=audit.format_command_note(f"erasure {erasure.pk}"),
        )
    # From here on the card opens no visit, and every open page learns that its visit is over.
    Participant.objects.filter(pk=person.pk).update(is_active=False)
    end_visits([person.pk])
    return erasure


def _delete_everything(person: Participant, on_progress: Callable[[int], None]) -> None:
    participant = person.pk
    conversation = Conversation.objects.filter(participant=participant).values_list("pk", flat=True).first()
    if conversation is not None:
        deleted = 0
        while batch := delete_oldest_turns(conversation, at_most=TURNS_AT_ONCE):
            deleted += batch
            on_progress(deleted)
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in (DELETE_STEPS, ANONYMIZE_FLAGS, DELETE_CONTROL):
                cursor.execute(statement, [conversation])
    with transaction.atomic():
        with connection.cursor() as cursor:
            for statement in (DELETE_REASONS, DELETE_PAUSES):
                cursor.execute(statement, {"participant": participant, "site": person.site_id})
        SafeguardingHold.objects.filter(participant=participant).delete()
        # Django deletes what refers to the row, and unlinks flags.
        Participant.objects.filter(pk=participant).delete()


def _refuse_held(person: Participant) -> None:
    if hold := holds.get_hold(person):
        raise ChangeRefused(f"{holds.describe_hold(hold)} Nothing of them can be erased until it ends.")


def _to_entry(erasure: Erasure) -> ErasedPerson:
    return ErasedPerson(participant=erasure.participant, added_at=erasure.added_at, erased_at=erasure.at)
