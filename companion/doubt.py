"""Held questions that may be what makes calls fail, so that none keeps later messages from being answered. PURE.

A held question is asked along with the next message. Where that call fails before a word, in a class that may speak of
what was asked, the failure is counted on the held question's row. The next time it is doubted: if the call fails again,
it is made once more without the doubted questions, and if need be with the new message alone. Only a question without
which the same message was answered is given up.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from routing.errors import FailureClass

SPEAKS_OF_WHAT_IS_ASKED = frozenset(
    {FailureClass.REFUSED, FailureClass.TOO_LONG, FailureClass.BAD_REQUEST, FailureClass.UNKNOWN}
)
"""A provider that fails so fails again for the same words. A refusal in words that are on no list is among them."""

MAY_SPEAK_OF_IT = SPEAKS_OF_WHAT_IS_ASKED | {
    FailureClass.EMPTY,
    FailureClass.INCOMPLETE,
    FailureClass.SERVER_ERROR,
    FailureClass.NETWORK,
    FailureClass.MISCONFIGURED,
}
"""The others may as well be the trouble of everybody."""

_DOUBTED_AT_ONCE = SPEAKS_OF_WHAT_IS_ASKED | {FailureClass.EMPTY, FailureClass.INCOMPLETE}
"""One such turn is enough to doubt a question; of the others it takes two, or an outage would make many doubted."""


def is_doubted(tried_along: int, failure: str) -> bool:
    """Whether a held question with this count, and this class of the last failure, may be why calls fail."""
    return tried_along >= (1 if failure in _DOUBTED_AT_ONCE else 2)


def class_along(failure: FailureClass, status: int | None) -> FailureClass:
    """The class that counts for questions that were asked along.

    An error in the stream of an accepted request and a 403 are where refusals in unlisted words end up.
    """
    in_stream = failure is FailureClass.SERVER_ERROR and (status is None or status < 400)
    forbidden = failure is FailureClass.MISCONFIGURED and status == 403
    return FailureClass.UNKNOWN if in_stream or forbidden else failure


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenUp:
    """Places in `Draft.held` of doubted questions without which the message was answered."""

    unanswerable: tuple[int, ...] = ()
    """It was the question: it is let go, and the participant is told."""
    unasked: tuple[int, ...] = ()
    """It may have been: it is not asked along any more, and the page offers it back."""


def give_up(
    doubted: Collection[int], left_out: Collection[int], failed: Mapping[int, FailureClass]
) -> GivenUp:
    """What follows for the doubted questions that were left out of the call that was answered.

    `failed` are the places that were asked along in a call of this turn that failed, with its class.
    """
    places = sorted(place for place in failed if place in doubted and place in left_out)
    return GivenUp(
        unanswerable=tuple(place for place in places if failed[place] in SPEAKS_OF_WHAT_IS_ASKED),
        unasked=tuple(place for place in places if failed[place] not in SPEAKS_OF_WHAT_IS_ASKED),
    )


NOTHING = GivenUp()
"""Where no question is given up."""
