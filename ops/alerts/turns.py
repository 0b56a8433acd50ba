"""Alerts about turns: what one turn reports as it ends, and what the kept minutes count of endings that went wrong.

Kept minutes are rows, so a turn whose process died is counted as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from companion.states import Reason, TurnState
from companion.turn_end import TurnEnd
from ops.alerts.kinds import AlertKind
from ops.alerts.statements import timing_params
from routing.errors import UNOPENED_THOUGHTS, FailureClass, unknown_finish_word

ALL_SITES = "all sites"
"""What alerts of ended turns are about, where no site is named."""

_FAILURES = {
    FailureClass.MISCONFIGURED: AlertKind.MISCONFIGURED,
    FailureClass.BAD_REQUEST: AlertKind.BAD_REQUEST,
    FailureClass.QUOTA: AlertKind.QUOTA,
    FailureClass.UNKNOWN: AlertKind.UNKNOWN_FAILURE,
}


def find_turn_alerts(end: TurnEnd) -> Iterator[tuple[AlertKind, str]]:
    """The alerts that a turn raises as it ends: kind, and what it is about."""
    for attempt in end.attempts:
        if attempt.failure in _FAILURES:
            yield _FAILURES[attempt.failure], attempt.lane
        if word := unknown_finish_word(attempt.code):
            yield AlertKind.UNKNOWN_FINISH, f"{attempt.lane}, {word}"
        if attempt.code == UNOPENED_THOUGHTS:
            yield AlertKind.THOUGHTS_SHOWN, attempt.lane
    if end.reason == FailureClass.TOO_LONG and end.attempts:
        yield AlertKind.TOO_LONG, end.attempts[-1].lane
    if any(lane.tried for lane in end.passed_over):
        yield AlertKind.ALL_LANES_OPEN, end.preset
    if end.reason is Reason.REGION:
        yield AlertKind.REGION, end.preset


def is_content_refusal(end: TurnEnd) -> bool:
    """Whether a provider refused what the person wrote now, or what was asked along with it."""
    return end.reason == FailureClass.REFUSED or any(
        attempt.failure is FailureClass.REFUSED for attempt in end.attempts
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class EndingRule:
    """Which endings raise an alert. `part` names a part of a minute's figures, `names` the counts in it to add up."""

    kind: AlertKind
    part: str
    names: tuple[str, ...]

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of RAISE_FOR_ENDINGS."""
        return {
            **timing_params(self.kind),
            "about": ALL_SITES,
            "part": self.part,
            "names": list(self.names),
        }


ENDING_RULES = (
    EndingRule(kind=AlertKind.PEOPLE_REFUSED, part="states", names=(TurnState.REFUSED,)),
    EndingRule(kind=AlertKind.TURNS_LOST, part="reasons", names=(Reason.LOST,)),
    EndingRule(kind=AlertKind.TURNS_UNSTORED, part="reasons", names=(Reason.UNSTORED,)),
    EndingRule(kind=AlertKind.TURNS_FAULTED, part="reasons", names=(Reason.FAULT,)),
    EndingRule(
        kind=AlertKind.TURNS_HUNG,
        part="reasons",
        names=(FailureClass.FIRST_WORD_TIMEOUT, FailureClass.IDLE_TIMEOUT, FailureClass.REPLY_TIMEOUT),
    ),
)
