"""Reads and changes what is recorded of a participant's needs. Pages use Django's connection."""

import logging
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from companion.needs.choices import FIELDS, RECORDED, UNRECORDED, Value
from companion.needs.look import LOOK_FIELDS, Look, make_look
from companion.needs.models import Needs
from companion.notifications import NOTIFY, NeedsChanged, notify_parameters
from companion.visits.conditions import IS_OPEN

log = logging.getLogger(__name__)

REVIEW_AFTER = timedelta(days=182)
"""From the first record to its review, unless staff name another day."""
MAX_REVIEW = timedelta(days=366)

_COLUMNS = ", ".join(f"n.{field}" for field in LOOK_FIELDS)
# A locked visit counts: its page must be readable by the same person.
LOOK_OF_VISIT = f"""
SELECT {_COLUMNS} FROM companion_visit v JOIN companion_needs n ON n.participant_id = v.participant_id
WHERE v.id = %s AND {IS_OPEN}
"""
LOOKS = f"SELECT n.participant_id, {_COLUMNS} FROM companion_needs n WHERE n.participant_id = ANY(%(participants)s)"


def find_needs(participant: int) -> Needs | None:
    """Return what is recorded of a participant."""
    return Needs.objects.filter(pk=participant).first()


def list_values(needs: Needs | None) -> Mapping[str, Value]:
    """Return the fields of a record that choices store; of no record, what holds without one."""
    return {field: getattr(needs, field) for field in FIELDS} if needs else UNRECORDED


def find_look_of_visit(visit: UUID) -> Look:
    """Return the look of the pages of a visit that has not ended; empty: nothing is recorded."""
    with connection.cursor() as cursor:
        cursor.execute(LOOK_OF_VISIT, [visit])
        row = cursor.fetchone()
    return read_look(row) if row else {}


def read_look(row: Sequence[Any]) -> Look:
    """Make a look of a row of `LOOK_FIELDS`."""
    return make_look(dict(zip(LOOK_FIELDS, row, strict=True)))


@transaction.atomic
def change_needs(
    participant: int, changes: Mapping[str, Value], *, by: str = "", review_by: date | None = None
) -> Needs | None:
    """Store these fields, in a first record or in the one there is. `by`: the member of staff; empty: the participant.

    Returns the record as it was before; None: there was none.
    """
    first = {**RECORDED, "review_by": timezone.localdate() + REVIEW_AFTER}
    needs, is_new = Needs.objects.get_or_create(participant_id=participant, defaults=first)
    before = None if is_new else Needs.objects.select_for_update().get(pk=participant)
    for field, value in changes.items():
        setattr(needs, field, value)
    if review_by is not None:
        needs.review_by = review_by
    needs.set_by = by
    needs.set_at = Now()
    needs.save(update_fields=[*changes, "review_by", "set_by", "set_at"])
    _notify(participant)
    log.info("needs.changed participant=%d fields=%s by_staff=%s", participant, ",".join(changes), bool(by))
    return before


@transaction.atomic
def restore_needs(
    participant: int, values: Mapping[str, Value] | None, *, unchanged_since: datetime, by: str = ""
) -> bool:
    """Store the values of before a change; None deletes the record that it made.

    False: the record has been changed otherwise since, and stays.
    """
    record = Needs.objects.select_for_update().filter(pk=participant, set_at=unchanged_since)
    changed = record.delete()[0] if values is None else record.update(**values, set_by=by, set_at=Now())
    if changed:
        _notify(participant)
    return bool(changed)


def _notify(participant: int) -> None:
    """Tell the open pages of a participant, once the change is committed."""
    with connection.cursor() as cursor:
        cursor.execute(NOTIFY, notify_parameters(NeedsChanged(needs=(participant,))))
