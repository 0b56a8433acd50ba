"""PURE. What is measured: loads, and the systems put under each of them."""

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


@dataclass(frozen=True, kw_only=True)
class System:
    """Something that is asked. `client` names the way to the provider where there is a choice."""

    name: str
    kind: Literal["companion", "relay", "direct"]
    client: str = "service"


SYSTEMS = {
    system.name: system
    for system in (
        System(name=OURS, kind="companion"),
        System(name=RELAY_SERVICE, kind="relay"),
        System(name=RELAY_AIOHTTP, kind="relay", client="aiohttp"),
        System(name=RELAY_TUNED, kind="relay", client="tuned"),
        System(name=RELAY_STOCK, kind="relay", client="stock"),
        System(name=DIRECT_SERVICE, kind="direct"),
        System(name=DIRECT_TUNED, kind="direct", client="tuned"),
        System(name=DIRECT_STOCK, kind="direct", client="stock"),
    )
}
EVERY = tuple(SYSTEMS)


@dataclass(frozen=True, kw_only=True)
class Load:
    """So many people who all ask at the same moment, `times` in a row and `rounds` times over. In milliseconds."""

    people: int
    pace_ms: float
    first_word_ms: float
    rounds: int
    times: int = 1
    systems: tuple[str, ...] = EVERY

    @property
    def gathered(self) -> int:
        """How many people connect. A single one asks more than one person may in a minute, so there are several."""
        return self.people * self.rounds if self.people == 1 else self.people

    @property
    def title(self) -> str:
        """For people."""
        who = "one person" if self.people == 1 else f"{self.people} people at once"
        return f"{who}, {self.pace_ms:g} ms between words"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run. Everybody opens a socket at once, twice; then comes one load after the other."""

    participants: int
    loads: tuple[Load, ...]


def full() -> Plan:
    """Everything; some minutes."""
    some = (OURS, RELAY_AIOHTTP, RELAY_TUNED, RELAY_STOCK)
    return Plan(
        participants=500,
        loads=(
            Load(people=1, pace_ms=0, first_word_ms=0, rounds=5, times=10),
            Load(people=1, pace_ms=10, first_word_ms=100, rounds=2, times=3),
            Load(people=50, pace_ms=10, first_word_ms=100, rounds=4),
            Load(people=200, pace_ms=10, first_word_ms=100, rounds=4),
            Load(people=200, pace_ms=40, first_word_ms=100, rounds=2, systems=some),
        ),
    )


def quick() -> Plan:
    """The same questions, fewer times; about a minute."""
    bare = (OURS, RELAY_SERVICE, RELAY_AIOHTTP)
    return Plan(
        participants=220,
        loads=(
            Load(people=1, pace_ms=0, first_word_ms=0, rounds=2, times=10, systems=(*bare, DIRECT_SERVICE)),
            Load(people=50, pace_ms=10, first_word_ms=100, rounds=1, systems=(*bare, DIRECT_SERVICE)),
            Load(
                people=200,
                pace_ms=10,
                first_word_ms=100,
                rounds=2,
                systems=(OURS, RELAY_AIOHTTP, RELAY_TUNED, RELAY_STOCK),
            ),
            Load(people=200, pace_ms=40, first_word_ms=100, rounds=1, systems=(OURS,)),
        ),
    )


def small() -> Plan:
    """A handful of people: enough to see that the bench itself works."""
    return Plan(participants=8, loads=(Load(people=4, pace_ms=2, first_word_ms=10, rounds=1),))
