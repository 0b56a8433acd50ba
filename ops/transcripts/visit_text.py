"""How visits were opened and ended, and what became of offers, in words, for staff and for exports."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from companion.machines.models import OfferAnswer, VisitWay
from companion.visits.ends import EndReason

WAYS: Mapping[str, str] = MappingProxyType(
    {VisitWay.STAFF: "let in by staff", VisitWay.LINK: "link of the card", VisitWay.CODE: "code of the card"}
)
"""How a visit was opened. Visits of earlier releases have no way."""

END_REASONS: Mapping[str, str] = MappingProxyType(
    {
        EndReason.FINISHED: "pressed I am finished",
        EndReason.QUICK_EXIT: "pressed Leave now",
        EndReason.IDLE: "left it locked",
        EndReason.STAFF: "staff ended it",
        EndReason.MOVED: "came in elsewhere",
        EndReason.EXPIRED: "its longest time was over",
        EndReason.WITHDRAWN: "the card, the machine or the site was closed",
        EndReason.REPLACED: "another visit was opened in the same browser",
    }
)
"""How a visit ended. Visits of earlier releases have no reason."""

PAST_OFFERS: Mapping[str, str] = MappingProxyType(
    {
        "open": "is being asked",
        OfferAnswer.YES: "said yes",
        OfferAnswer.NO: "the person there said no",
        OfferAnswer.TAKEN_BACK: "it was taken back",
        OfferAnswer.EXPIRED: "there was no answer",
        OfferAnswer.GONE: "it could not be opened any more",
    }
)
"""What became of an offer, after who made it and where."""


def describe_end(visit: Mapping[str, Any]) -> str:
    """How a visit of a timeline stands, after where it is: ", left at 12:30 (came in elsewhere)"."""
    if not visit["ended_at"]:
        if not visit["is_open"]:
            return ", the visit ran out"
        return ", is here; the screen is locked" if visit["is_locked"] else ", is here"
    reason = END_REASONS.get(visit["end_reason"], "")
    return f", left at {visit['ended_clock']}" + (f" ({reason})" if reason else "")
