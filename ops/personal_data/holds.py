"""Safeguarding holds: who placed one, why, and when it is reviewed. A hold stops erasure and deletion by age."""

from datetime import date

from django.db import transaction
from django.utils import timezone

from companion.models import Participant
from ops import audit
from ops.changes import ChangeRefused, ChangeResult
from ops.models import Erasure, SafeguardingHold
from ops.people import lookup

MAX_REVIEW_DAYS = 366
"""A hold is looked at again within a year."""

# The participant's row is the lock that a hold and an erasure share.
HELD_PARTICIPANTS = """
SELECT participant_id FROM ops_safeguardinghold WHERE ended_at IS NULL
"""


@transaction.atomic
def place_hold(person: Participant, *, reason: str, review_by: date, by: str) -> ChangeResult:
    """Place a hold on everything that is kept of a participant. Raises ChangeRefused."""
    today = timezone.localdate()
    if not 0 < (review_by - today).days <= MAX_REVIEW_DAYS:
        raise ChangeRefused(
            "The review must be after today and within a year: --review-by names a day as 2027-03-31."
        )
    person = lookup.lock_participant(person)
    if Erasure.objects.filter(participant=person.pk, added_at=person.created_at).exists():
        raise ChangeRefused(
            f"The erasure of participant {person.pk} has begun, and a hold cannot stop it any more."
        )
    if existing := get_hold(person):
        return ChangeResult(sentence=describe_hold(existing), is_new=False)
    hold = SafeguardingHold.objects.create(participant=person, by=by, reason=reason, review_by=review_by)
    audit.record(
        audit.PLACED_HOLD, who=by, about=person.pk, note=audit.format_command_note(f"hold {hold.pk}")
    )
    return ChangeResult(
        sentence=f"Nothing of participant {person.pk} is erased or deleted by age now. "
        f"Review by {review_by:%d %b %Y}. --end ends the hold."
    )


@transaction.atomic
def end_hold(person: Participant, *, by: str) -> ChangeResult:
    """End the hold of a participant."""
    person = lookup.lock_participant(person)
    hold = get_hold(person)
    if hold is None:
        return ChangeResult(sentence=f"Participant {person.pk} is under no hold.", is_new=False)
    hold.ended_at, hold.ended_by = timezone.now(), by
    hold.save(update_fields=["ended_at", "ended_by"])
    audit.record(audit.ENDED_HOLD, who=by, about=person.pk, note=audit.format_command_note(f"hold {hold.pk}"))
    return ChangeResult(sentence=f"The hold on participant {person.pk} has ended.")


def get_hold(person: Participant) -> SafeguardingHold | None:
    """The open hold of a participant."""
    return SafeguardingHold.objects.filter(participant=person, ended_at=None).first()


def list_overdue(today: date) -> list[SafeguardingHold]:
    """The open holds whose review date has passed, oldest first, at most a hundred."""
    overdue = SafeguardingHold.objects.filter(ended_at=None, review_by__lt=today)
    return list(overdue.order_by("review_by", "id")[:100])


def describe_hold(hold: SafeguardingHold) -> str:
    """One sentence: since when, by whom, and when it is reviewed. The reason is staff's own text and stays out."""
    return (
        f"Participant {hold.participant_id} is under a safeguarding hold since {hold.at:%d %b %Y}, "
        f"placed by {hold.by}, to be reviewed by {hold.review_by:%d %b %Y}."
    )
