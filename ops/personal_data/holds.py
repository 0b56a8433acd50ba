"""Safeguarding holds: who placed one, why, and when it is reviewed. A hold stops erasure and deletion by age."""

from datetime import date

from django.db import connection, transaction
from django.utils import timezone

from companion.models import Participant
from ops import audit
from ops.changes import ChangeRefused, ChangeResult
from ops.models import Erasure, SafeguardingHold
from ops.people import lookup
from ops.personal_data.dry_run import NOTHING_CHANGED
from ops.personal_data.person_counts import count_person

MAX_REVIEW_DAYS = 366
"""A hold is looked at again within a year."""

HELD_PARTICIPANTS = """
SELECT participant_id FROM ops_safeguardinghold WHERE ended_at IS NULL
"""
# The participant's row is the lock that a hold shares with an erasure and with each batch of deletion by age.
LOCK_PARTICIPANT = "SELECT 1 FROM companion_participant WHERE id = %s FOR SHARE"
IS_HELD = "SELECT EXISTS (SELECT 1 FROM ops_safeguardinghold WHERE participant_id = %s AND ended_at IS NULL)"


def check_hold(person: Participant, *, review_by: date) -> SafeguardingHold | None:
    """The open hold, if there is one already; None: one can be placed. Raises ChangeRefused where it cannot."""
    today = timezone.localdate()
    if not 0 < (review_by - today).days <= MAX_REVIEW_DAYS:
        raise ChangeRefused(
            "The review must be after today and within a year: --review-by names a day as 2027-03-31."
        )
    if Erasure.objects.filter(participant=person.pk, added_at=person.created_at).exists():
        raise ChangeRefused(
            f"The erasure of participant {person.pk} has begun, and a hold cannot stop it any more."
        )
    return get_hold(person)


def plan_hold(person: Participant, *, review_by: date) -> ChangeResult:
    """Say what a hold would do, and change nothing. Raises ChangeRefused."""
    existing = check_hold(person, review_by=review_by)
    would = (
        describe_hold(existing)
        if existing
        else f"A hold with a review by {review_by:%d %b %Y} would stop erasure and deletion by age of what is kept of "
        f"participant {person.pk}: {count_person(person)}."
    )
    return ChangeResult(sentence=f"{would} {NOTHING_CHANGED}", is_new=False)


def plan_end(person: Participant) -> ChangeResult:
    """Say what the end of a hold would do, and change nothing."""
    hold = get_hold(person)
    would = (
        f"{describe_hold(hold)} It would end, and nothing would stop erasure and deletion by age of "
        f"{count_person(person)}."
        if hold
        else describe_no_hold(person)
    )
    return ChangeResult(sentence=f"{would} {NOTHING_CHANGED}", is_new=False)


@transaction.atomic
def place_hold(person: Participant, *, reason: str, review_by: date, by: str) -> ChangeResult:
    """Place a hold on everything that is kept of a participant. Raises ChangeRefused."""
    person = lookup.lock_participant(person)
    if existing := check_hold(person, review_by=review_by):
        return ChangeResult(sentence=describe_hold(existing), is_new=False)
    hold = SafeguardingHold.objects.create(participant=person, by=by, reason=reason, review_by=review_by)
    note = f"hold {hold.pk}, {count_person(person).note}"
    audit.record(audit.PLACED_HOLD, who=by, about=person.pk, note=audit.format_command_note(note))
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
        return ChangeResult(sentence=describe_no_hold(person), is_new=False)
    hold.ended_at, hold.ended_by = timezone.now(), by
    hold.save(update_fields=["ended_at", "ended_by"])
    note = f"hold {hold.pk}, {count_person(person).note}"
    audit.record(audit.ENDED_HOLD, who=by, about=person.pk, note=audit.format_command_note(note))
    return ChangeResult(sentence=f"The hold on participant {person.pk} has ended.")


def lock_unless_held(participant: int) -> bool:
    """Keep a hold from being placed until the transaction ends. False: there is one, or no such participant."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_PARTICIPANT, [participant])
        if cursor.fetchone() is None:
            return False
        # A statement of its own: it sees a hold that was placed while the lock was awaited.
        cursor.execute(IS_HELD, [participant])
        return not cursor.fetchone()[0]


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


def describe_no_hold(person: Participant) -> str:
    return f"Participant {person.pk} is under no hold."
