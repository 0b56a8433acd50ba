"""PURE. Reasons of turns and failures of attempts in words, for staff."""

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.translation import gettext

from companion.states import Reason
from ops.catalogue_marks import gettext_noop
from routing.errors import FailureClass

FAILURES: Mapping[str, str] = MappingProxyType(
    {
        FailureClass.NETWORK: gettext_noop("The connection to the provider was refused, or broke off."),
        FailureClass.NETWORK_REUSED: gettext_noop(
            "A kept connection had been closed by the provider before it answered."
        ),
        FailureClass.SERVER_ERROR: gettext_noop("The provider said that something broke on its side."),
        FailureClass.OVERLOADED: gettext_noop("The provider said that it is overloaded."),
        FailureClass.RATE_LIMITED: gettext_noop("The provider said that our account asks too often."),
        FailureClass.QUOTA: gettext_noop(
            "Our account with the provider has no credit or allowance left. A person must renew it."
        ),
        FailureClass.FIRST_WORD_TIMEOUT: gettext_noop(
            "The provider took the question, and no word came in time."
        ),
        FailureClass.IDLE_TIMEOUT: gettext_noop("Words came, and then none for too long."),
        FailureClass.REPLY_TIMEOUT: gettext_noop(
            "Words still came when the lane's time for one reply (`reply_ms`) was over."
        ),
        FailureClass.INCOMPLETE: gettext_noop("The reply ended without the sign that it was whole."),
        FailureClass.EMPTY: gettext_noop("The reply ended without a single word to show."),
        FailureClass.TOO_LONG: gettext_noop(
            "The question, with what went before it, is longer than the model can read."
        ),
        FailureClass.MISCONFIGURED: (
            gettext_noop(
                "The provider did not accept our key, or does not know the model. A person must mend the lane."
            )
        ),
        FailureClass.BAD_REQUEST: (
            gettext_noop(
                "The provider could not read what we sent. Asking again would not help; a person must look."
            )
        ),
        FailureClass.REFUSED: gettext_noop(
            "The provider would not answer this question. It was not asked elsewhere."
        ),
        FailureClass.LOCAL_LIMIT: gettext_noop(
            "The lane was full, and no slot came free in time: the provider was not asked."
        ),
        FailureClass.CANCELLED: gettext_noop("The call was ended by us, because the turn had ended."),
        FailureClass.UNKNOWN: gettext_noop(
            "An error that is not classified. The log of the web process names it."
        ),
    }
)
"""Each failure class, for an attempt and for a turn that ended with it."""

ENDINGS: Mapping[str, str] = MappingProxyType(
    {
        Reason.WHOLE: "",
        Reason.LENGTH: gettext_noop(
            "The provider stopped at its length limit. The reply stands, marked as short."
        ),
        Reason.STOPPED: gettext_noop("The participant pressed Stop."),
        Reason.SIGNED_OUT: gettext_noop(
            "The participant finished the visit while this turn was still under way."
        ),
        Reason.LOST: gettext_noop(
            "The web process that served this turn died, or lost touch with the database."
        ),
        Reason.AWAY: gettext_noop(
            "The participant had no page open for a while, so the place in the waiting room was given up."
        ),
        Reason.DRAINED: gettext_noop(
            "The web process was told to leave, and its time for ending replies ran out."
        ),
        Reason.UNSTORED: gettext_noop("Words came that could not be stored in time, so they were not shown."),
        Reason.WAIT_CEILING: gettext_noop("No place became free within the longest wait."),
        Reason.REGION: gettext_noop(
            "No lane of the chain lies in a region that the site allows, so no provider was asked."
        ),
        Reason.RED: gettext_noop(
            "The message was red, or a red message of the same person ended the reply that was under way."
        ),
        Reason.PERSON: gettext_noop("A member of staff had taken over."),
        Reason.QUIET: gettext_noop("The companion was quiet after a red message."),
        Reason.GOODBYE: gettext_noop("The message took leave, and the drafted goodbye answers it."),
        Reason.STAFF_PAUSE: gettext_noop(
            "Staff had paused the companion for the person, the site or everyone."
        ),
        Reason.CAUGHT: gettext_noop("A rule ended the reply before its last words were shown."),
        Reason.FAULT: gettext_noop(
            "Something in this program went wrong. The log of the web process names it."
        ),
    }
)
"""Each other reason of a turn; empty for a whole reply."""


NEEDS_A_PERSON = frozenset(
    {FailureClass.QUOTA, FailureClass.MISCONFIGURED, FailureClass.BAD_REQUEST, FailureClass.UNKNOWN}
)
"""Failures that do not end by themselves."""


def explain_reason(reason: str) -> str:
    """A sentence for a failure class or a turn's reason; an unknown one is quoted."""
    known = FAILURES.get(reason) or ENDINGS.get(reason)
    if known is None:
        return gettext("“{reason}”: unknown to this release.").format(reason=reason)
    return gettext(known)
