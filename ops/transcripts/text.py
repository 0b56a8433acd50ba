"""PURE. Reasons of turns and failures of attempts in words, for staff."""

from collections.abc import Mapping
from types import MappingProxyType

from companion.states import Reason
from routing.errors import FailureClass

FAILURES: Mapping[str, str] = MappingProxyType(
    {
        FailureClass.NETWORK: "The connection to the provider was refused, or broke off.",
        FailureClass.NETWORK_REUSED: "A kept connection had been closed by the provider before it answered.",
        FailureClass.SERVER_ERROR: "The provider said that something broke on its side.",
        FailureClass.OVERLOADED: "The provider said that it is overloaded.",
        FailureClass.RATE_LIMITED: "The provider said that our account asks too often.",
        FailureClass.QUOTA: "Our account with the provider has no credit or allowance left. A person must renew it.",
        FailureClass.FIRST_WORD_TIMEOUT: "The provider took the question, and no word came in time.",
        FailureClass.IDLE_TIMEOUT: "Words came, and then none for too long.",
        FailureClass.REPLY_TIMEOUT: "Words still came when the lane's time for one reply (`reply_ms`) was over.",
        FailureClass.INCOMPLETE: "The reply ended without the sign that it was whole.",
        FailureClass.EMPTY: "The reply ended without a single word to show.",
        FailureClass.TOO_LONG: "The question, with what went before it, is longer than the model can read.",
        FailureClass.MISCONFIGURED: (
            "The provider did not accept our key, or does not know the model. A person must mend the lane."
        ),
        FailureClass.BAD_REQUEST: (
            "The provider could not read what we sent. Asking again would not help; a person must look."
        ),
        FailureClass.REFUSED: "The provider would not answer this question. It was not asked elsewhere.",
        FailureClass.LOCAL_LIMIT: "The lane was full, and no slot came free in time: the provider was not asked.",
        FailureClass.CANCELLED: "The call was ended by us, because the turn had ended.",
        FailureClass.UNKNOWN: "An error that is not classified. The log of the web process names it.",
    }
)
"""Each failure class, for an attempt and for a turn that ended with it."""

ENDINGS: Mapping[str, str] = MappingProxyType(
    {
        Reason.WHOLE: "",
        Reason.LENGTH: "The provider stopped at its length limit. The reply stands, marked as short.",
        Reason.STOPPED: "The participant pressed Stop.",
        Reason.SIGNED_OUT: "The participant finished the visit while this turn was still under way.",
        Reason.LOST: "The web process that served this turn died, or lost touch with the database.",
        Reason.AWAY: "The participant had no page open for a while, so the place in the waiting room was given up.",
        Reason.DRAINED: "The web process was told to leave, and its time for ending replies ran out.",
        Reason.UNSTORED: "Words came that could not be stored in time, so they were not shown.",
        Reason.WAIT_CEILING: "No place became free within the longest wait.",
        Reason.REGION: "No lane of the chain lies in a region that the site allows, so no provider was asked.",
        Reason.RED: "The message was red, or a red message of the same person ended the reply that was under way.",
        Reason.PERSON: "A member of staff had taken over.",
        Reason.QUIET: "The companion was quiet after a red message.",
        Reason.GOODBYE: "The message took leave, and the drafted goodbye answers it.",
        Reason.STAFF_PAUSE: "Staff had paused the companion for the person, the site or everyone.",
        Reason.CAUGHT: "A rule ended the reply before its last words were shown.",
        Reason.FAULT: "Something in this program went wrong. The log of the web process names it.",
    }
)
"""Each other reason of a turn; empty for a whole reply."""


NEEDS_A_PERSON = frozenset(
    {FailureClass.QUOTA, FailureClass.MISCONFIGURED, FailureClass.BAD_REQUEST, FailureClass.UNKNOWN}
)
"""Failures that do not end by themselves."""


def explain_reason(reason: str) -> str:
    """A sentence for a failure class or a turn's reason; an unknown one is quoted."""
    return FAILURES.get(reason) or ENDINGS.get(reason, f"“{reason}”: unknown to this release.")
