"""What drills and checks found, kept as rows; a lane that failed its drill is told of until it passes one."""

from collections.abc import Sequence

from django.db import transaction

from ops.alerts.kinds import Kind
from ops.alerts.rows import close, raise_alert
from ops.lanes.answers import LaneAnswer
from ops.models import LaneProbe
from routing.errors import unknown_finish
from routing.lanes import NORMAL

PROVEN_WRONG = (Kind.MISCONFIGURED, Kind.QUOTA)
"""What can be no longer so of a lane that has given a whole reply."""


def fallback_of(preset: str) -> str:
    """What an alert calls the chain that is asked with its head unplugged."""
    return f"The fallback of preset {preset}"


@transaction.atomic
def keep(answers: Sequence[LaneAnswer], *, preset: str = NORMAL) -> None:
    """Store them, raise an alert for each drill that failed, and close what a drill that passed has proved wrong.

    `preset` is the one whose chain was asked. A check's answers tell nobody: its table says it.
    """
    kept = [name for name in LaneAnswer.__slots__ if name != "code"]
    LaneProbe.objects.bulk_create(
        LaneProbe(**{name: getattr(answer, name) for name in kept}) for answer in answers
    )
    for answer in answers:
        if answer.how == "check":
            continue
        about = f"Lane {answer.lane}" if answer.how == "drill" else fallback_of(preset)
        if answer.ok:
            _close(answer, about)
        else:
            raise_alert(Kind.DRILL_FAILED, about)
            if word := unknown_finish(answer.code):
                raise_alert(Kind.UNKNOWN_FINISH, f"{answer.lane}, {word}")


def _close(answer: LaneAnswer, about: str) -> None:
    # What came while the lane was being asked may be true all the same.
    close(Kind.DRILL_FAILED, about, before=answer.at)
    if answer.how == "drill":
        close(Kind.DRILL_OVERDUE, before=answer.at)
        for kind in PROVEN_WRONG:
            close(kind, answer.lane, before=answer.at)
