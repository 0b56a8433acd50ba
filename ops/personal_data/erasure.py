"""Erases a participant: first the record that it happens, then every row that holds their words, name or times.

It may be killed at any moment. The `Erasure` row stays unfinished, and the next run, or the start of a web
process, goes on. What remains are numbers: in the audit record, in counts of flags, and in the list of erasures.
"""

import logging
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from companion.models import Conversation, Participant, Turn
from companion.visits.leaving import end_visits_of
from ops import audit
from ops.changes import ChangeRefused
from ops.models import Erasure, SafeguardingHold
from ops.people import lookup
from ops.personal_data import erasure_list, holds
from ops.personal_data.batches import ROWS_AT_ONCE, delete_in_batches
from ops.personal_data.erasure_list import ErasedPerson
from ops.personal_data.job_progress import OnProgress, ignore_progress
from ops.personal_data.person_counts import PersonCounts, count_person
from ops.personal_data.turn_deletion import delete_oldest_turns

log = logging.getLogger(__name__)

DELETE_ENTRIES = """
DELETE FROM companion_transcriptentry WHERE id IN (
    SELECT id FROM companion_transcriptentry WHERE conversation_id = %(conversation)s ORDER BY id LIMIT %(at_most)s)
"""
DELETE_STEPS = """
DELETE FROM companion_flagstep WHERE id IN (
    SELECT step.id FROM companion_flagstep step JOIN companion_flag flag ON flag.id = step.flag_id
    WHERE flag.conversation_id = %(conversation)s LIMIT %(at_most)s)
"""
# Counts and times of flags stay for the figures, without the participant's number.
ANONYMIZE_FLAGS = """
UPDATE companion_flag SET participant = 0, turn = NULL WHERE id IN (
    SELECT id FROM companion_flag WHERE conversation_id = %(conversation)s AND participant <> 0 LIMIT %(at_most)s)
"""
DELETE_VISITS = """
DELETE FROM companion_visit WHERE id IN (
    SELECT id FROM companion_visit WHERE participant_id = %(participant)s ORDER BY expires_at LIMIT %(at_most)s)
"""
DELETE_CONTROL = "DELETE FROM companion_control WHERE conversation_id = %s"
# Reasons that staff typed: they may name the participant or say what happened.
DELETE_REASONS = """
DELETE FROM ops_statedreason WHERE participant = %(participant)s AND site_id = %(site)s
"""
DELETE_PAUSES = "DELETE FROM companion_staffpause WHERE scope = 'person' AND about = %(participant)s"


def plan_erasure(person: Participant) -> PersonCounts:
    """Count what an erasure would delete. Raises ChangeRefused under a hold."""
    _refuse_held(person)
    return count_person(person)


def erase(
    person: Participant, *, by: str, lists: list[Path], on_progress: OnProgress = ignore_progress
) -> None:
    """Erase a participant. `lists` are the files that must know first; `on_progress` is given the turns deleted.

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

    Holds of that older time do not count: the erasure came after them. Then goes on with erasures that were
    interrupted. Returns how many people it erased.
    """
    numbers = {person.identity for person in people}
    found = Participant.objects.filter(pk__in={number for number, _ in numbers})
    back = [person for person in found if (person.pk, person.created_at) in numbers]
    for person in back:
        SafeguardingHold.objects.filter(participant=person).delete()
        erase(person, by=by, lists=lists)
        audit.record(audit.FORGOT_AGAIN, who=by, about=person.pk)
    return len(back) + finish_erasures(lists)


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
    # Each run is on record with what it found.
    run = f"erasure {erasure.pk}" if is_new else f"erasure {erasure.pk} goes on"
    note = audit.format_command_note(f"{run}, {count_person(person).note}")
    audit.record(audit.ERASED_PERSON, who=by, about=person.pk, note=note)
    # From here on the card opens no visit, and every open page learns that its visit is over.
    Participant.objects.filter(pk=person.pk).update(is_active=False)
    end_visits_of([person.pk])
    return erasure


def _delete_everything(person: Participant, on_progress: OnProgress) -> None:
    participant = person.pk
    conversation = Conversation.objects.filter(participant=participant).values_list("pk", flat=True).first()
    if conversation is not None:
        _delete_turns(conversation, on_progress)
        for statement in (DELETE_ENTRIES, DELETE_STEPS, ANONYMIZE_FLAGS):
            delete_in_batches(statement, {"conversation": conversation})
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(DELETE_CONTROL, [conversation])
    delete_in_batches(DELETE_VISITS, {"participant": participant})
    with transaction.atomic():
        with connection.cursor() as cursor:
            for statement in (DELETE_REASONS, DELETE_PAUSES):
                cursor.execute(statement, {"participant": participant, "site": person.site_id})
        SafeguardingHold.objects.filter(participant=participant).delete()
        # Django deletes what refers to the row, and unlinks flags.
        Participant.objects.filter(pk=participant).delete()


def _delete_turns(conversation: int, on_progress: OnProgress) -> None:
    total, deleted = Turn.objects.filter(conversation=conversation).count(), 0
    while batch := delete_oldest_turns(conversation, at_most=ROWS_AT_ONCE):
        deleted += batch
        on_progress(deleted, max(total, deleted))


def _refuse_held(person: Participant) -> None:
    if hold := holds.get_hold(person):
        raise ChangeRefused(f"{holds.describe_hold(hold)} Nothing of them can be erased until it ends.")


def _to_entry(erasure: Erasure) -> ErasedPerson:
    return ErasedPerson(participant=erasure.participant, added_at=erasure.added_at, erased_at=erasure.at)
