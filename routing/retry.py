"""PURE. Whether, where and after how long to ask again: one table, one decision.

Time and chance are arguments; the loop that acts on a decision is `companion.engine`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from routing.errors import FailureClass

F = FailureClass

BASE_S = 0.5
CAP_S = 8.0
"""The longest wait before the first repetition, doubled each time, and what it never passes."""
FULL_CAP_S = 2.0
"""The longest wait before a full lane is tried again: its slots come free at any moment."""
ATTEMPTS_ON_A_LANE = 2
"""While the chain has another lane, a lane is asked this often. Without one it has all the turn's attempts."""
PATIENCE_S = 2.0
"""A time that a lane names is waited for up to this long while another lane is free: a person looks at an
empty page meanwhile. Without another lane it is waited for as long as the turn's time allows."""
SHORTEST_CALL_S = 1.0
"""A call that would have less time than this is not begun: no reply starts so soon after a failure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureRule:
    """What one class of failure may do before the first word. After it, nothing is asked again."""

    same_lane: Literal["yes", "no", "without_other"]
    """`without_other`: only if the chain has no other lane."""
    next_lane: Literal["yes", "no", "larger_window"]
    breaker: Literal["ignores", "soft", "counts", "opens"]
    """`soft` counts for less; `opens` opens the breaker at once, and for long."""
    alert: bool = False
    """An operator has to look; waiting will not mend it."""
    free_once: bool = False
    """The first in a turn is repeated at once, however many attempts are left."""
    is_call: bool = True
    """False: the lane was not called, so no attempt is spent."""


_AGAIN = FailureRule(same_lane="yes", next_lane="yes", breaker="counts")
_ELSEWHERE = FailureRule(same_lane="without_other", next_lane="yes", breaker="counts")
_NOWHERE = FailureRule(same_lane="no", next_lane="no", breaker="ignores")
_NOWHERE_AND_TELL = FailureRule(same_lane="no", next_lane="no", breaker="ignores", alert=True)

RULES: Mapping[FailureClass, FailureRule] = MappingProxyType(
    {
        F.NETWORK: _AGAIN,
        F.NETWORK_REUSED: FailureRule(same_lane="yes", next_lane="yes", breaker="ignores", free_once=True),
        F.SERVER_ERROR: _AGAIN,
        F.OVERLOADED: _AGAIN,
        F.RATE_LIMITED: _AGAIN,
        F.QUOTA: FailureRule(same_lane="no", next_lane="yes", breaker="opens", alert=True),
        F.FIRST_WORD_TIMEOUT: _ELSEWHERE,
        F.IDLE_TIMEOUT: _ELSEWHERE,
        F.REPLY_TIMEOUT: _NOWHERE,
        F.INCOMPLETE: _ELSEWHERE,
        F.EMPTY: FailureRule(same_lane="without_other", next_lane="yes", breaker="soft"),
        F.TOO_LONG: FailureRule(same_lane="no", next_lane="larger_window", breaker="ignores"),
        F.MISCONFIGURED: _NOWHERE_AND_TELL,
        F.BAD_REQUEST: _NOWHERE_AND_TELL,
        # A refusal is an answer: another lane is never asked for a different one.
        F.REFUSED: _NOWHERE,
        # The lane is full: another may have room; if there is none, a slot is waited for.
        F.LOCAL_LIMIT: FailureRule(
            same_lane="without_other", next_lane="yes", breaker="ignores", is_call=False
        ),
        F.CANCELLED: _NOWHERE,
        F.UNKNOWN: _NOWHERE_AND_TELL,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Again:
    """Ask the same lane again after so many seconds."""

    after_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class NextLane:
    """Ask the next lane at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GiveUp:
    """Call no lane: the turn pauses."""


Decision = Again | NextLane | GiveUp


def decide(
    *,
    failure: FailureClass,
    retry_after_s: float | None,
    attempts_made: int,
    attempts_on_lane: int,
    attempts_allowed: int,
    more_lanes: bool,
    larger_window_left: bool,
    seconds_left: float,
    random: Callable[[], float],
    reused_before: bool = False,
) -> Decision:
    """What to do after a call that failed before its first word, or that found its lane full.

    Both counts of attempts include the one that failed, and one that was repeated for free, which is taken off
    `attempts_made` here. `reused_before`: an earlier attempt of this turn was. `random` gives numbers from 0 to 1.
    """
    rule = RULES[failure]
    room = seconds_left - SHORTEST_CALL_S
    if room <= 0:
        return GiveUp()
    # The second bound only matters to a caller that never says `reused_before`.
    if rule.free_once and not reused_before and attempts_made <= attempts_allowed:
        return Again(after_s=0.0)
    if rule.is_call and attempts_made - reused_before >= attempts_allowed:
        return GiveUp()
    elsewhere = {"yes": more_lanes, "no": False, "larger_window": larger_window_left}[rule.next_lane]
    if _may_stay(rule, elsewhere=elsewhere, attempts_on_lane=attempts_on_lane):
        asked = retry_after_s or 0.0
        if asked < room and not (elsewhere and asked > PATIENCE_S):
            # On top of the time it named comes the jitter, or all who were told the same would come back together.
            cap = CAP_S if rule.is_call else FULL_CAP_S
            jitter = backoff(attempts_on_lane, BASE_S, min(cap, room - asked), random)
            return Again(after_s=asked + jitter)
    if elsewhere:
        return NextLane()
    return GiveUp()


def backoff(attempt: int, base: float, cap: float, random: Callable[[], float]) -> float:
    """Full jitter: anything from nothing to `base` doubled with every attempt after the first, at most `cap`."""
    return random() * min(cap, base * 2.0 ** min(attempt - 1, 30))


def _may_stay(rule: FailureRule, *, elsewhere: bool, attempts_on_lane: int) -> bool:
    if not elsewhere:
        return rule.same_lane != "no"
    return rule.same_lane == "yes" and attempts_on_lane < ATTEMPTS_ON_A_LANE
