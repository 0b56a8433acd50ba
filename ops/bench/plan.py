"""PURE. What the bench measures: loads, and the systems put under each."""

from dataclasses import dataclass
from typing import Literal

OURS = "care companion"
RELAY_STOCK = "bare Channels + Daphne + stock httpx"
RELAY_TUNED = "bare Channels + Daphne + tuned httpx"
RELAY_AIOHTTP = "bare Channels + Daphne + aiohttp"
RELAY_SERVICE = "bare Channels + Daphne + our client"
DIRECT_STOCK = "direct call, stock httpx"
DIRECT_TUNED = "direct call, tuned httpx"
DIRECT_SERVICE = "direct call, our client"

WORDS = 80
"""Words of each reply."""
WATCH_PACE_MS = 10.0
"""Between two words of a reply while the cost of reading along is measured."""


@dataclass(frozen=True, kw_only=True)
class MeasuredSystem:
    """A system under load. `client` names its HTTP client to the provider, where there is a choice."""

    name: str
    kind: Literal["companion", "relay", "direct"]
    client: str = "service"


SYSTEMS = {
    system.name: system
    for system in (
        MeasuredSystem(name=OURS, kind="companion"),
        MeasuredSystem(name=RELAY_SERVICE, kind="relay"),
        MeasuredSystem(name=RELAY_AIOHTTP, kind="relay", client="aiohttp"),
        MeasuredSystem(name=RELAY_TUNED, kind="relay", client="tuned"),
        MeasuredSystem(name=RELAY_STOCK, kind="relay", client="stock"),
        MeasuredSystem(name=DIRECT_SERVICE, kind="direct"),
        MeasuredSystem(name=DIRECT_TUNED, kind="direct", client="tuned"),
        MeasuredSystem(name=DIRECT_STOCK, kind="direct", client="stock"),
    )
}
ALL_SYSTEMS = tuple(SYSTEMS)


@dataclass(frozen=True, kw_only=True)
class BenchLoad:
    """`people` who ask at the same moment, `times` in a row, over `rounds` rounds. Times in milliseconds."""

    people: int
    pace_ms: float
    first_word_ms: float
    rounds: int
    times: int = 1
    systems: tuple[str, ...] = ALL_SYSTEMS

    @property
    def connected(self) -> int:
        """How many people connect. One person may ask only so much in a minute, so a load of one uses several."""
        return self.people * self.rounds if self.people == 1 else self.people

    @property
    def title(self) -> str:
        """Its heading in the table."""
        who = "one person" if self.people == 1 else f"{self.people} people at once"
        return f"{who}, {self.pace_ms:g} ms between words"


@dataclass(frozen=True, kw_only=True)
class SupervisionLoad:
    """`people` at the service and `screens` of staff. `flags` red messages ring on every screen, twice: with no reply
    under way, and while people are answered `busy_times` in a row. Then one screen reads `watched` conversations along,
    `rounds` times."""

    people: int
    screens: int
    flags: int
    busy_times: int
    watched: int
    rounds: int


@dataclass(frozen=True, kw_only=True)
class BenchPlan:
    """One run: `participants` open sockets at once, twice; then one load follows the other; supervision at last."""

    participants: int
    loads: tuple[BenchLoad, ...]
    supervision: SupervisionLoad | None = None


def full() -> BenchPlan:
    """Every load; takes some minutes."""
    fewer = (OURS, RELAY_AIOHTTP, RELAY_TUNED, RELAY_STOCK)
    return BenchPlan(
        participants=500,
        loads=(
            BenchLoad(people=1, pace_ms=0, first_word_ms=0, rounds=5, times=10),
            BenchLoad(people=1, pace_ms=10, first_word_ms=100, rounds=2, times=3),
            BenchLoad(people=50, pace_ms=10, first_word_ms=100, rounds=4),
            BenchLoad(people=200, pace_ms=10, first_word_ms=100, rounds=4),
            BenchLoad(people=200, pace_ms=40, first_word_ms=100, rounds=2, systems=fewer),
        ),
        supervision=SupervisionLoad(people=200, screens=20, flags=20, busy_times=2, watched=20, rounds=7),
    )


def quick() -> BenchPlan:
    """Fewer rounds of the same loads; takes about a minute."""
    bare = (OURS, RELAY_SERVICE, RELAY_AIOHTTP)
    return BenchPlan(
        participants=220,
        loads=(
            BenchLoad(
                people=1, pace_ms=0, first_word_ms=0, rounds=2, times=10, systems=(*bare, DIRECT_SERVICE)
            ),
            BenchLoad(people=50, pace_ms=10, first_word_ms=100, rounds=1, systems=(*bare, DIRECT_SERVICE)),
            BenchLoad(
                people=200,
                pace_ms=10,
                first_word_ms=100,
                rounds=2,
                systems=(OURS, RELAY_AIOHTTP, RELAY_TUNED, RELAY_STOCK),
            ),
            BenchLoad(people=200, pace_ms=40, first_word_ms=100, rounds=1, systems=(OURS, RELAY_AIOHTTP)),
        ),
        supervision=SupervisionLoad(people=200, screens=20, flags=10, busy_times=1, watched=20, rounds=3),
    )


def small() -> BenchPlan:
    """A few people: enough to test the bench itself."""
    return BenchPlan(
        participants=8,
        loads=(BenchLoad(people=4, pace_ms=2, first_word_ms=10, rounds=1),),
        supervision=SupervisionLoad(people=4, screens=2, flags=2, busy_times=1, watched=2, rounds=1),
    )
