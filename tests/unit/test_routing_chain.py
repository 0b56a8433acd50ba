"""A turn's way along its chain: which lane is called, which are passed over, and what is said of it (B4, B5, R9)."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from routing.breaker import Permit, Skip
from routing.chain import LaneCursor, Route, Unguarded
from routing.contracts import Lane
from routing.errors import CallFailed
from routing.errors import FailureClass as F
from tests.chains import lane

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ONE, TWO, THREE = lane("one"), lane("two"), lane("three", context_tokens=64_000)


@dataclass
class Barring:
    """Breakers of which some are open, for so many seconds, and a record of what was reported."""

    barred: dict[str, float] = field(default_factory=dict)
    reported: list[tuple[str, str, F | None]] = field(default_factory=list)

    async def ask(self, lane: str) -> Permit | Skip:
        return self.bars(lane) or Permit(generation=1, at=NOON)

    def force(self, lane: str) -> Permit:
        return Permit(generation=1, at=NOON, kind="forced")

    def takes(self, lane: Lane) -> int:
        return lane.max_in_flight

    def bars(self, lane: str) -> Skip | None:
        if lane not in self.barred:
            return None
        return Skip(why="open", until=NOON + timedelta(seconds=self.barred[lane]))

    def report(self, lane: str, permit: Permit, failure: CallFailed | None) -> None:
        self.reported.append((lane, permit.kind, failure.failure if failure else None))


async def test_the_head_is_called_and_nothing_is_passed_over_while_it_is_closed() -> None:
    way = LaneCursor((ONE, TWO), Barring())
    assert await way.enter() is ONE
    assert way.passed_over == ()
    assert not way.is_last


async def test_a_lane_that_is_barred_is_passed_over_and_it_is_said_why() -> None:
    way = LaneCursor((ONE, TWO), Barring({"one": 9}))
    assert await way.enter() is TWO
    [passed] = way.passed_over
    assert (passed.lane, passed.why, passed.until, passed.tried) == (
        "one",
        "open",
        NOON + timedelta(seconds=9),
        False,
    )
    assert way.is_last


async def test_with_every_lane_barred_the_one_that_recovers_soonest_is_called_and_marked() -> None:
    breakers = Barring({"one": 9, "two": 3, "three": 5})
    way = LaneCursor((ONE, TWO, THREE), breakers)
    assert await way.enter() is TWO
    assert [(one.lane, one.tried) for one in way.passed_over] == [
        ("one", False),
        ("two", True),
        ("three", False),
    ]
    way.report(None)
    assert breakers.reported == [("two", "forced", None)]


async def test_a_lane_whose_breaker_opens_between_two_attempts_is_left_for_the_next() -> None:
    breakers = Barring()
    way = LaneCursor((ONE, TWO), breakers)
    await way.enter()
    way.report(CallFailed(F.RATE_LIMITED))
    breakers.barred["one"] = 15
    assert await way.enter() is TWO
    assert way.tries_here == 1


async def test_a_failure_leads_on_to_a_lane_that_may_be_called_and_otherwise_stays() -> None:
    breakers = Barring()
    way = LaneCursor((ONE, TWO), breakers)
    await way.enter()
    assert way.leads_on(F.SERVER_ERROR)
    breakers.barred["two"] = 15
    assert not way.leads_on(F.SERVER_ERROR)
    # What this lane can never give is asked for even of a lane that is not trusted.
    assert way.leads_on(F.QUOTA)


async def test_after_too_long_only_larger_windows_are_left_however_the_lanes_stand() -> None:
    way = LaneCursor((ONE, TWO, THREE), Barring({"three": 60}))
    await way.enter()
    assert way.leads_to_a_larger_window
    way.move_on(F.TOO_LONG)
    assert await way.enter() is THREE
    assert [one.lane for one in way.passed_over] == ["three"]


async def test_a_call_that_is_broken_off_is_reported_as_cancelled_and_only_once() -> None:
    breakers = Barring()
    way = LaneCursor((ONE,), breakers)
    await way.enter()
    way.leave()
    way.leave()
    assert breakers.reported == [("one", "free", F.CANCELLED)]


async def test_without_breakers_every_lane_may_be_called() -> None:
    way = LaneCursor((ONE, TWO), Unguarded())
    assert await way.enter() is ONE
    way.report(CallFailed(F.QUOTA))
    assert not way.is_last


def test_a_route_within_regions_has_no_lane_outside_them() -> None:
    lanes = (lane("home"), lane("abroad", region="us"))
    route = Route(preset="normal", version=1, lanes=lanes, marking="none", ceiling=None)
    assert route.within(()) is route
    assert [one.name for one in route.within(("us", "eu")).lanes] == ["abroad"]
    assert route.within(("eu",)).lanes == ()
