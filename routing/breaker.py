"""PURE. One lane's breaker: closed, open, half-open. Three functions; time is an argument, and always the database's.

Every step from one state to another starts a new generation. A permit names the generation it was given in, and what
comes of a call whose generation is over is ignored.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID

from routing.errors import FailureClass
from routing.retry import RULES
from routing.retry_after import longer_rest

LONGEST_REST_S = 15 * 60.0
"""However long a lane asks to be left alone."""
STRIKES = {"ignores": 0, "soft": 1, "counts": 2, "opens": 2}
"""What a failure weighs, by what its class does to a breaker."""


class State(StrEnum):
    """Closed: the lane is called. Open: it is not. Half-open: one probe is."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """When breakers open, and for how long. Times in seconds."""

    strikes: int = 6
    """Three failures that count, or six that count for half."""
    window_s: float = 30.0
    """Within which they have to fall."""
    cooldown_s: float = 15.0
    """How long a lane is left alone at first; doubled each time a probe fails."""
    longest_cooldown_s: float = 300.0
    quota_s: float = 900.0
    """How long a lane is left alone whose quota is spent."""
    lease_s: float = 30.0
    """A probe that has not reported by then is given up, and another is let through."""


TUNING = Tuning()


@dataclass(frozen=True, kw_only=True, slots=True)
class Breaker:
    """What is known of a lane, by all processes together."""

    state: State = State.CLOSED
    generation: int = 0
    strikes: tuple[datetime, ...] = ()
    """When failures were counted; one that counts in full stands here twice."""
    openings: int = 0
    """How often it has opened since it was last closed."""
    opened_until: datetime | None = None
    probe_owner: UUID | None = None
    probe_until: datetime | None = None
    rest_until: datetime | None = None
    """The lane has asked to be left alone until then."""
    last_failure: str = ""
    """The class of the last failure that was counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Permit:
    """A call may be made. What comes of it is reported with this permit."""

    generation: int
    at: datetime
    kind: Literal["free", "probe", "forced"] = "free"
    """`forced`: every lane is open, and this one recovers soonest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """The lane is not to be called, why, and until when."""

    why: Literal["open", "probing", "resting"]
    until: datetime


def may_call(
    breaker: Breaker, *, now: datetime, owner: UUID, tuning: Tuning = TUNING
) -> tuple[Breaker, Permit | Skip]:
    """Whether the lane may be called now; taking the one probe of a half-open breaker changes it."""
    skip = find_skip(breaker, now)
    if skip is not None:
        return breaker, skip
    if breaker.state is State.CLOSED:
        return breaker, Permit(generation=breaker.generation, at=now)
    probing = replace(
        breaker,
        state=State.HALF_OPEN,
        generation=breaker.generation + 1,
        probe_owner=owner,
        probe_until=now + timedelta(seconds=tuning.lease_s),
    )
    return probing, Permit(generation=probing.generation, at=now, kind="probe")


def force_permit(breaker: Breaker, *, now: datetime) -> Permit:
    """The permit of a call that is made although the lane is not to be called."""
    return Permit(generation=breaker.generation, at=now, kind="forced")


def record_success(breaker: Breaker, permit: Permit) -> Breaker:
    """A whole reply came back. It closes a breaker that was not closed, and clears the failures before the call."""
    # The breaker has changed since the call began: what is known now is younger than this result.
    if permit.generation != breaker.generation:
        return breaker
    if breaker.state is State.CLOSED:
        # Only those before the call: a lane may finish old replies while it turns every new call away.
        left = tuple(strike for strike in breaker.strikes if strike > permit.at)
        return breaker if left == breaker.strikes else replace(breaker, strikes=left)
    return Breaker(generation=breaker.generation + 1, last_failure=breaker.last_failure)


def record_failure(
    breaker: Breaker,
    permit: Permit,
    failure: FailureClass,
    *,
    now: datetime,
    retry_after_s: float | None = None,
    tuning: Tuning = TUNING,
) -> Breaker:
    """Count a failed call, before its first word or after it. `retry_after_s`: the pause that the lane asked for."""
    if permit.generation != breaker.generation:
        return breaker
    rule = RULES[failure].breaker
    if rule == "ignores":
        # The failure says nothing about the lane, but its probe must not stand until the lease ends.
        return _let_go(breaker, now) if permit.kind == "probe" else breaker
    if retry_after_s is not None:
        breaker = _resting(breaker, now, retry_after_s)
    if breaker.state is not State.CLOSED and permit.kind != "probe":
        # A forced call proves nothing new.
        return breaker
    breaker = replace(breaker, last_failure=failure.value)
    if rule == "opens":
        return _opened(breaker, until=now + timedelta(seconds=tuning.quota_s))
    if permit.kind == "probe":
        return _opened(breaker, until=now + _cooldown(breaker, tuning))
    # Strikes outside the window are dropped here and nowhere else: a lane that is not called keeps them unread.
    fresh = [strike for strike in breaker.strikes if now - strike < timedelta(seconds=tuning.window_s)]
    strikes = (*fresh, *[now] * STRIKES[rule])
    if len(strikes) >= tuning.strikes:
        return _opened(breaker, until=now + _cooldown(breaker, tuning))
    return replace(breaker, strikes=strikes)


def ramp(takes: int, *, closed_s: float) -> int:
    """How many turns a lane that takes so many is given, so many seconds after a probe closed its breaker.

    Two at first, and twice as many every second: all who wait at once could bring it down again.
    """
    return min(takes, 2 << min(int(closed_s), 30))


def describe_state(breaker: Breaker, now: datetime) -> Literal["closed", "open", "half_open", "resting"]:
    """How a page should call it: an open breaker whose time is up waits for a probe, so it is half-open."""
    skip = find_skip(breaker, now)
    if skip is None:
        return "closed" if breaker.state is State.CLOSED else "half_open"
    return {"open": "open", "probing": "half_open", "resting": "resting"}[skip.why]  # type: ignore[return-value]


def find_skip(breaker: Breaker, now: datetime) -> Skip | None:
    """Why the lane is not to be called, without taking a probe; None if it may be."""
    rest = breaker.rest_until
    if breaker.state is State.OPEN and breaker.opened_until is not None and now < breaker.opened_until:
        return Skip(why="open", until=max(breaker.opened_until, rest or breaker.opened_until))
    if rest is not None and now < rest:
        return Skip(why="resting", until=rest)
    if breaker.state is State.HALF_OPEN and breaker.probe_until is not None and now < breaker.probe_until:
        return Skip(why="probing", until=breaker.probe_until)
    return None


def _opened(breaker: Breaker, *, until: datetime) -> Breaker:
    return replace(
        breaker,
        state=State.OPEN,
        generation=breaker.generation + 1,
        strikes=(),
        openings=breaker.openings + 1,
        opened_until=until,
        probe_owner=None,
        probe_until=None,
    )


def _let_go(breaker: Breaker, now: datetime) -> Breaker:
    """Release the probe without a result: the next caller may probe at once."""
    # Not counted as an opening: the next cooldown must not be longer for it.
    return replace(_opened(breaker, until=now), openings=breaker.openings)


def _cooldown(breaker: Breaker, tuning: Tuning) -> timedelta:
    # The exponent is bounded: a float overflows at 2 ** 1024.
    seconds = tuning.cooldown_s * 2.0 ** min(breaker.openings, 20)
    return timedelta(seconds=min(seconds, tuning.longest_cooldown_s))


def _resting(breaker: Breaker, now: datetime, seconds: float) -> Breaker:
    known = None if breaker.rest_until is None else (breaker.rest_until - now).total_seconds()
    rest_s = longer_rest(known, min(seconds, LONGEST_REST_S))
    return replace(breaker, rest_until=now + timedelta(seconds=rest_s))
