"""Stores results of drills and checks, and raises or closes the alerts that follow from them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import close_alert, raise_alert
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.contract import ContractReport
from ops.lane_checks.formatting import check_document
from ops.models import ContractCheck, LaneProbe
from routing.errors import unknown_finish_word
from routing.lanes import NORMAL

PROVEN_WRONG = (AlertKind.MISCONFIGURED, AlertKind.QUOTA)
"""Alerts that a whole reply of their lane disproves."""

CHECKS_KEPT = 20
CHECK_EVERY = timedelta(days=1)


def fallback_name(preset: str) -> str:
    """The subject of alerts about a chain with its head unplugged."""
    return f"The fallback of preset {preset}"


@transaction.atomic
def store_answers(answers: Sequence[LaneAnswer], *, preset: str = NORMAL) -> None:
    """Store answers, raise an alert for each failed drill, and close the alerts that a passed drill disproves.

    `preset` is the one whose chain was asked. Answers of a contract check raise no alerts; its report shows them.
    """
    fields = [name for name in LaneAnswer.__slots__ if name != "code"]
    LaneProbe.objects.bulk_create(
        LaneProbe(**{name: getattr(answer, name) for name in fields}) for answer in answers
    )
    for answer in answers:
        if answer.how == "check":
            continue
        about = f"Lane {answer.lane}" if answer.how == "drill" else fallback_name(preset)
        if answer.ok:
            _close_disproved(answer, about)
        else:
            raise_alert(AlertKind.DRILL_FAILED, about)
            if word := unknown_finish_word(answer.code):
                raise_alert(AlertKind.UNKNOWN_FINISH, f"{answer.lane}, {word}")


@transaction.atomic
def store_check(report: ContractReport, *, preset: str, routing_hash: str) -> None:
    """Store a contract check, and delete all but the last CHECKS_KEPT. `ops.alerts` decides about an alert."""
    ContractCheck.objects.create(
        preset=preset,
        routing_hash=routing_hash,
        ok=report.is_interchangeable,
        document=check_document(report),
    )
    last = ContractCheck.objects.order_by("-id").values_list("id", flat=True)[:CHECKS_KEPT]
    ContractCheck.objects.filter(id__lt=min(last)).delete()


def is_fresh(routing_hash: str, now: datetime) -> bool:
    """Whether the chain of `normal` was checked with this routing file in the last day."""
    last = ContractCheck.objects.filter(preset=NORMAL).order_by("-id").first()
    return last is not None and last.routing_hash == routing_hash and now - last.at < CHECK_EVERY


def _close_disproved(answer: LaneAnswer, about: str) -> None:
    # An alert that was raised after the lane was asked may still be true.
    close_alert(AlertKind.DRILL_FAILED, about, before=answer.at)
    if answer.how == "drill":
        close_alert(AlertKind.DRILL_OVERDUE, before=answer.at)
        for kind in PROVEN_WRONG:
            close_alert(kind, answer.lane, before=answer.at)
