"""How visits were opened and ended, and what became of offers, in words, for staff and for exports."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext

from companion.machines.models import OfferAnswer, VisitWay
from companion.visits.ends import EndReason
from ops.catalogue_marks import gettext_noop

WAYS: Mapping[str, str] = MappingProxyType(
    {
        VisitWay.STAFF: gettext_noop("let in by staff"),
        VisitWay.LINK: gettext_noop("link of the card"),
        VisitWay.CODE: gettext_noop("code of the card"),
    }
)
"""How a visit was opened. Visits of earlier releases have no way."""

END_REASONS: Mapping[str, str] = MappingProxyType(
    {
        EndReason.FINISHED: gettext_noop("pressed I am finished"),
        EndReason.QUICK_EXIT: gettext_noop("pressed Leave now"),
        EndReason.IDLE: gettext_noop("left it locked"),
        EndReason.STAFF: gettext_noop("staff ended it"),
        EndReason.MOVED: gettext_noop("came in elsewhere"),
        EndReason.EXPIRED: gettext_noop("its longest time was over"),
        EndReason.WITHDRAWN: gettext_noop("the card, the machine or the site was closed"),
        EndReason.REPLACED: gettext_noop("another visit was opened in the same browser"),
    }
)
"""How a visit ended. Visits of earlier releases have no reason."""

PAST_OFFERS: Mapping[str, str] = MappingProxyType(
    {
        "open": gettext_noop("is being asked"),
        OfferAnswer.YES: gettext_noop("said yes"),
        OfferAnswer.NO: gettext_noop("the person there said no"),
        OfferAnswer.TAKEN_BACK: gettext_noop("it was taken back"),
        OfferAnswer.EXPIRED: gettext_noop("there was no answer"),
        OfferAnswer.GONE: gettext_noop("it could not be opened any more"),
    }
)
"""What became of an offer, after who made it and where."""


def describe_end(visit: Mapping[str, Any]) -> str:
    """How a visit of a timeline stands, after where it is: ", left at 12:30 (came in elsewhere)"."""
    if not visit["ended_at"]:
        if not visit["is_open"]:
            return gettext(", the visit ran out")
        return gettext(", is here; the screen is locked") if visit["is_locked"] else gettext(", is here")
    reason = gettext(END_REASONS.get(visit["end_reason"], ""))
    sentence = gettext(", left at {at} ({reason})") if reason else gettext(", left at {at}")
    return sentence.format(at=visit["ended_clock"], reason=reason)
