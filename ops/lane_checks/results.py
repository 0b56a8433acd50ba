"""What drills and checks found, kept as rows; a lane that failed its drill is told of until it passes one."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from ops.alerts.kinds import Kind
from ops.alerts.rows import close, raise_alert
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.contract import Compared
from ops.lane_checks.formatting import check_document
from ops.models import ContractCheck, LaneProbe
from routing.errors import unknown_finish_word
from routing.lanes import NORMAL

PROVEN_WRONG = (Kind.MISCONFIGURED, Kind.QUOTA)
"""What can be no longer so of a lane that has given a whole reply."""

CHECKS_KEPT = 20
CHECK_EVERY = timedelta(days=1)


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
            if word := unknown_finish_word(answer.code):
                raise_alert(Kind.UNKNOWN_FINISH, f"{answer.lane}, {word}")


@transaction.atomic
def keep_check(found: Compared, *, preset: str, routing_hash: str) -> None:
    """Store what a contract check found, and drop all but the last. Whether it is told of is for the alerts to see."""
    ContractCheck.objects.create(
        preset=preset, routing_hash=routing_hash, ok=found.is_interchangeable, document=check_document(found)
    )
    last = ContractCheck.objects.order_by("-id").values_list("id", flat=True)[:CHECKS_KEPT]
    ContractCheck.objects.filter(id__lt=min(last)).delete()


def is_fresh(routing_hash: str, now: datetime) -> bool:
    """Whether the chain of `normal` was checked in the last day, with this routing file."""
    last = ContractCheck.objects.filter(preset=NORMAL).order_by("-id").first()
    return last is not None and last.routing_hash == routing_hash and now - last.at < CHECK_EVERY


def _close(answer: LaneAnswer, about: str) -> None:
    # What came while the lane was being asked may be true all the same.
    close(Kind.DRILL_FAILED, about, before=answer.at)
    if answer.how == "drill":
        close(Kind.DRILL_OVERDUE, before=answer.at)
        for kind in PROVEN_WRONG:
            close(kind, answer.lane, before=answer.at)
