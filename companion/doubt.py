"""Finds held questions that make calls fail, so that none keeps later messages from being answered. PURE.

A held question is asked along with the next message. Where that call fails before a word, in a class that the content
may cause, the failure is counted on the held question's row. The next time it is doubted: if the call fails again,
it is made once more without the doubted questions, and if need be with the new message alone. A question is given up
only if the same message was answered without it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from routing.errors import FailureClass

CAUSED_BY_CONTENT = frozenset(
    {FailureClass.REFUSED, FailureClass.TOO_LONG, FailureClass.BAD_REQUEST, FailureClass.UNKNOWN}
)
"""A provider that fails in one of these classes fails again for the same words. UNKNOWN includes unlisted refusals."""

POSSIBLY_CAUSED_BY_CONTENT = CAUSED_BY_CONTENT | {
    FailureClass.EMPTY,
    FailureClass.INCOMPLETE,
    FailureClass.SERVER_ERROR,
    FailureClass.NETWORK,
    FailureClass.MISCONFIGURED,
}
"""Calls fail in the added classes for their content, or because the provider is in trouble."""

_DOUBTED_AT_ONCE = CAUSED_BY_CONTENT | {FailureClass.EMPTY, FailureClass.INCOMPLETE}
"""One failure of these classes is enough to doubt a question. The others need two, or an outage makes many doubted."""


def is_doubted(tried_along: int, failure: str) -> bool:
    """Whether a held question may be the reason that calls fail, from its count of failures and the last class."""
    return tried_along >= (1 if failure in _DOUBTED_AT_ONCE else 2)


def classify_held_failure(failure: FailureClass, status: int | None) -> FailureClass:
    """The class to count for the held questions of a call that failed.

    UNKNOWN for an error in the stream of an accepted request and for a 403: refusals in unlisted words arrive so.
    """
    in_stream = failure is FailureClass.SERVER_ERROR and (status is None or status < 400)
    forbidden = failure is FailureClass.MISCONFIGURED and status == 403
    return FailureClass.UNKNOWN if in_stream or forbidden else failure


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenUp:
    """Places in `PromptDraft.held` of doubted questions without which the message was answered."""

    unanswerable: tuple[int, ...] = ()
    """The question was the reason: it is settled, and a drafted line says so."""
    unasked: tuple[int, ...] = ()
    """The question may be the reason: it is asked along no more, and the page offers it back."""


def give_up(
    doubted: Collection[int], left_out: Collection[int], failed: Mapping[int, FailureClass]
) -> GivenUp:
    """Choose which of the doubted questions that were left out of the answered call are given up.

    `failed` maps the places of questions in calls of this turn that failed to the class of the failure.
    """
    places = sorted(place for place in failed if place in doubted and place in left_out)
    return GivenUp(
        unanswerable=tuple(place for place in places if failed[place] in CAUSED_BY_CONTENT),
        unasked=tuple(place for place in places if failed[place] not in CAUSED_BY_CONTENT),
    )


NONE_GIVEN_UP = GivenUp()
