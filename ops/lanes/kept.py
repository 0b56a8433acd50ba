"""What drills and checks found, kept as rows; a lane that failed its drill is told of."""

from collections.abc import Sequence

from django.db import transaction

from ops.alerts.kinds import Kind
from ops.alerts.rows import raise_alert
from ops.lanes.answers import LaneAnswer
from ops.models import LaneProbe

CHAIN = "The fallback of the normal chain"


@transaction.atomic
def keep(answers: Sequence[LaneAnswer]) -> None:
    """Store them, and raise an alert for each drill that failed. A check's answers raise none: its table says it."""
    LaneProbe.objects.bulk_create(
        LaneProbe(**{name: getattr(answer, name) for name in LaneAnswer.__slots__}) for answer in answers
    )
    for answer in answers:
        if not answer.ok and answer.how != "check":
            raise_alert(Kind.DRILL_FAILED, f"Lane {answer.lane}" if answer.how == "drill" else CHAIN)
