"""The chain a turn keeps from its start to its end, and the only place where breaker, retry and adapters meet."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, Protocol

from routing.breaker import Permit, Skip
from routing.contracts import Adapter, Ask, Clocks, Finished, Lane, Words
from routing.errors import CallFailed, FailureClass
from routing.lanes import Routing
from routing.retry import RULES


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """What was selected when a turn started. A later selection does not touch it."""

    preset: str
    version: int
    lanes: tuple[Lane, ...]
    marking: Literal["none", "reduced"]
    ceiling: int | None
    """Turns in flight over all lanes, if the preset has a ceiling of its own."""
    file_hash: str = ""
    """Of the routing file that names the lanes; empty without a file."""

    def marks(self, lane: Lane) -> bool:
        """Whether a reply of this lane is marked as reduced, by the preset or by the lane itself."""
        return "reduced" in (self.marking, lane.marking)

    def within(self, regions: Collection[str]) -> "Route":
        """The same without the lanes outside these regions; none named: all of them. May leave no lane at all."""
        if not regions:
            return self
        return replace(self, lanes=tuple(lane for lane in self.lanes if lane.region in regions))


def build_route(routing: Routing, preset: str, version: int) -> Route:
    """The route of a preset, with the version of the selection. Raises KeyError if there is no such preset."""
    chosen = routing.presets[preset]
    lanes = tuple(routing.lanes[name] for name in chosen.chain)
    return Route(
        preset=preset,
        version=version,
        lanes=lanes,
        marking=chosen.marking,
        ceiling=chosen.ceiling,
        file_hash=routing.file_hash,
    )


class Breakers(Protocol):
    """What all processes know of the lanes. Nothing here waits while a breaker is closed, or known to be open."""

    async def ask(self, lane: str) -> Permit | Skip:
        """Whether the lane may be called now. A permit must be reported or let go."""
        ...

    def force(self, lane: str) -> Permit:
        """The permit of a call that is made although the lane is not to be called."""
        ...

    def bars(self, lane: str) -> Skip | None:
        """What is known at this moment, without taking anything."""
        ...

    def takes(self, lane: Lane) -> int:
        """How many turns the lane is given at this moment: fewer than it takes, shortly after it has recovered."""
        ...

    def report(self, lane: str, permit: Permit, failure: CallFailed | None) -> None:
        """What came of the call; None: a whole reply."""
        ...


class Unguarded:
    """Breakers that never open: for drills, which must see every failure, and for tests."""

    async def ask(self, lane: str) -> Permit | Skip:
        return self.force(lane)

    def force(self, lane: str) -> Permit:
        return Permit(generation=0, at=datetime.fromtimestamp(0, UTC))

    def bars(self, lane: str) -> Skip | None:
        return None

    def takes(self, lane: Lane) -> int:
        return lane.max_in_flight

    def report(self, lane: str, permit: Permit, failure: CallFailed | None) -> None:
        pass


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedLane:
    """A lane whose breaker barred it. `tried`: every lane was barred, this one recovers soonest, and it was called."""

    lane: str
    why: str
    until: datetime
    tried: bool


class LaneCursor:
    """One turn's way along its chain: which lane is called now, and which were passed over. Never goes back."""

    def __init__(self, lanes: tuple[Lane, ...], breakers: Breakers) -> None:
        self._lanes = lanes
        self._breakers = breakers
        self._place = 0
        self._larger_than = 0
        self._permit: Permit | None = None
        self._passed_over: dict[str, SkippedLane] = {}
        self.tries_here = 0
        """Calls made to the lane on which the turn stands."""

    @property
    def lane(self) -> Lane:
        return self._lanes[self._place]

    @property
    def passed_over(self) -> tuple[SkippedLane, ...]:
        return tuple(self._passed_over.values())

    @property
    def is_last(self) -> bool:
        """Whether there is no other lane left that may be called."""
        return not any(self._breakers.bars(lane.name) is None for lane in self._ahead)

    def leads_on(self, failure: FailureClass) -> bool:
        """Whether another lane is worth going to: one that may be called, or any if this one will not help again."""
        # If this lane cannot help again, even a barred one is a better try than none.
        return bool(self._ahead) if RULES[failure].same_lane == "no" else not self.is_last

    @property
    def leads_to_a_larger_window(self) -> bool:
        return any(lane.context_tokens > self.lane.context_tokens for lane in self._ahead)

    async def enter(self) -> Lane:
        """The lane to call now: the first from here on that may be called; if there is none, the soonest to recover."""
        barred: dict[int, Skip] = {}
        place, permit = self._place, None
        for place in self._fitting():
            answer = await self._breakers.ask(self._lanes[place].name)
            if isinstance(answer, Permit):
                permit = answer
                break
            barred[place] = answer
        if permit is None:
            # All barred: a call that probably fails costs less than a turn that ends without one.
            place = min(barred, key=lambda one: barred[one].until)
            permit = self._breakers.force(self._lanes[place].name)
        for one, skip in barred.items():
            name = self._lanes[one].name
            self._passed_over[name] = SkippedLane(
                lane=name, why=skip.why, until=skip.until, tried=one == place
            )
        # Lanes passed over are left for good, so a turn makes a bounded number of calls.
        if place != self._place:
            self.tries_here = 0
        self._place, self._permit = place, permit
        self.tries_here += 1
        return self.lane

    def move_on(self, failure: FailureClass) -> None:
        """Leave this lane for good; after TOO_LONG only a larger window will do."""
        if failure is FailureClass.TOO_LONG:
            self._larger_than = self.lane.context_tokens
        self._place += 1
        self.tries_here = 0

    def report(self, failure: CallFailed | None) -> None:
        """Tell the lane's breaker what came of the call; None: a whole reply."""
        # Taken away first: each call is reported once, also if the turn is left after its last report.
        permit, self._permit = self._permit, None
        if permit is not None:
            self._breakers.report(self.lane.name, permit, failure)

    def leave(self) -> None:
        """The turn is over. A call that was broken off counts for nothing, but must not keep a probe."""
        self.report(CallFailed(FailureClass.CANCELLED))

    @property
    def _ahead(self) -> tuple[Lane, ...]:
        lanes = self._lanes[self._place + 1 :]
        return tuple(lane for lane in lanes if lane.context_tokens > self._larger_than)

    def _fitting(self) -> Iterator[int]:
        for place in range(self._place, len(self._lanes)):
            if self._lanes[place].context_tokens > self._larger_than:
                yield place


class Caller:
    """Makes one call to one lane through the adapter the lane names."""

    def __init__(self, adapters: Mapping[str, Adapter]) -> None:
        self._adapters = adapters

    def call(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]:
        """The adapter's events; see `routing.contracts.Adapter`. Use under `contextlib.aclosing`."""
        adapter = self._adapters.get(lane.adapter)
        return _unspoken() if adapter is None else adapter.stream(lane, ask, clocks)


async def _unspoken() -> AsyncIterator[Words | Finished]:
    """The stream of a lane without an adapter: fails as misconfigured."""
    # An async generator needs a `yield`, even one that is never reached.
    nothing: tuple[Words, ...] = ()
    for event in nothing:
        yield event
    raise CallFailed(FailureClass.MISCONFIGURED, code="no_adapter")
