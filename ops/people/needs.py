"""Needs of participants as staff set and review them. A change and its audit entry are one transaction."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from companion.needs import store
from companion.needs.choices import CHOICES, UNRECORDED, Choice, Option
from companion.needs.models import Needs
from companion.needs.undo import UndoSteps
from ops import audit
from ops.changes import ChangeRefused
from ops.database import fetch_all, fetch_one
from personas.schema import ChoiceLines

MAX_LISTED = 100

# In the order of the index on the day of review. Conversations are looked up one by one: joined without OFFSET, the
# plan may read all of them.
OVERDUE = """
SELECT c.id, p.id, p.name, s.id, s.name, n.review_by
FROM companion_needs n
JOIN companion_participant p ON p.id = n.participant_id
JOIN companion_site s ON s.id = p.site_id
CROSS JOIN LATERAL (SELECT id FROM companion_conversation WHERE participant_id = p.id OFFSET 0) c
WHERE n.review_by < %(today)s AND p.site_id = ANY(%(sites)s)
ORDER BY n.review_by, n.participant_id LIMIT %(limit)s
"""

# Reviews of other sites may be overdue by the thousand: behind the oldest ones, the people of the own sites are read.
HAS_OVERDUE = """
WITH oldest AS MATERIALIZED (
    SELECT participant_id FROM companion_needs WHERE review_by < %(today)s ORDER BY review_by LIMIT %(limit)s
)
SELECT CASE
    WHEN EXISTS (SELECT 1 FROM oldest JOIN companion_participant p ON p.id = oldest.participant_id
                 WHERE p.site_id = ANY(%(sites)s)) THEN true
    WHEN (SELECT count(*) FROM oldest) < %(limit)s THEN false
    ELSE EXISTS (
        SELECT 1 FROM companion_participant p
        JOIN companion_needs n ON n.participant_id = p.id AND n.review_by < %(today)s
        WHERE p.site_id = ANY(%(sites)s)
    )
END
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class OverdueReview:
    """Needs whose day of review has passed. They hold all the same."""

    conversation: int
    participant: int
    participant_name: str
    site: int
    site_name: str
    review_by: date


@transaction.atomic
def set_choice(participant: int, choice: Choice, option: Option, *, by: str) -> Needs | None:
    """Store a choice for a participant; returns the record as it was before. The record names no value."""
    before = store.change_needs(participant, option.stores, by=by)
    audit.record(audit.SET_NEEDS, who=by, about=participant, note=choice.name)
    return before


@transaction.atomic
def undo_choice(participant: int, steps: UndoSteps, *, by: str) -> bool:
    """Store what was before the last choice of this session. False: the record was changed elsewhere since."""
    if is_done := steps.undo(by=by):
        audit.record(audit.SET_NEEDS, who=by, about=participant, note="changed back")
    return is_done


@transaction.atomic
def set_review(participant: int, review_by: str, *, by: str) -> None:
    """Set the day on which the needs are looked at again, as `2027-03-31`. Raises ChangeRefused."""
    today = timezone.localdate()
    try:
        day = date.fromisoformat(review_by)
    except ValueError:
        day = today
    if not timedelta(0) < day - today <= store.MAX_REVIEW:
        raise ChangeRefused(gettext("The day must be after today and within a year. Nothing was changed."))
    if store.find_needs(participant) is None:
        raise ChangeRefused(
            gettext("Nothing is recorded yet, so there is nothing to look at again. Make a choice first.")
        )
    store.change_needs(participant, {}, by=by, review_by=day)
    audit.record(audit.REVIEWED_NEEDS, who=by, about=participant, note=f"next {day.isoformat()}")


def list_overdue(sites: Collection[int]) -> list[OverdueReview]:
    """The overdue reviews at these sites, the oldest first, at most `MAX_LISTED`."""
    facts: dict[str, Any] = {"today": timezone.localdate(), "sites": list(sites), "limit": MAX_LISTED}
    names = OverdueReview.__dataclass_fields__
    return [OverdueReview(**dict(zip(names, row, strict=True))) for row in fetch_all(OVERDUE, facts)]


def has_overdue(sites: Collection[int]) -> bool:
    """Whether a review at one of these sites is overdue."""
    facts: dict[str, Any] = {"today": timezone.localdate(), "sites": list(sites), "limit": MAX_LISTED}
    row = fetch_one(HAS_OVERDUE, facts)
    return row is not None and row[0]


def is_overdue(needs: Needs | None) -> bool:
    """Whether the day of review has passed."""
    return needs is not None and needs.review_by < timezone.localdate()


def describe_needs(needs: Needs, lines: ChoiceLines) -> list[str]:
    """What differs from the usual, in the words of the choices."""
    words, values = lines.shown(), store.list_values(needs)
    return [
        words[f"{choice.name}_{chosen}"]
        for choice in CHOICES
        if (chosen := choice.find_chosen(values)) and chosen != choice.find_chosen(UNRECORDED)
    ]
