"""Draws the faults of a run: what goes wrong, where, when and for how long. PURE."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from ops.ordeal.plan.steps import OrdealFaultKind, OrdealSize, PlannedFault

FIRST_FAULT_S = 3.0
"""People are in the middle of something by then."""
CALM_BEFORE_END_S = 4.0
BETWEEN_FAULTS_S = 4.5
"""On average; faults last longer than that, so they overlap."""
LONG_RUN_S = 60.0
"""A run as long has a crowd for certain; a shorter one would be little else."""
LONGEST_CROWD_S = 22.0
PROVIDERS = ("first", "second")
PROVIDER_WAYS = (
    "cut fin",
    "cut reset",
    "cut no_finish",
    "cut close_early",
    "cut mid_json",
    "cut short_length",
    "cut gzip",
    "hang before_byte",
    "hang before_word",
    "hang after_words",
    "storm 429",
    "storm 503",
    "error overloaded",
    "disconnect reset",
    "slow drip",
    "long replies",
    "long replies",
)
CHANGES = ("preset", "ceiling", "right", "card")
WITHOUT_STAFF = tuple(change for change in CHANGES if change != "right")


def draw_faults(chance: random.Random, size: OrdealSize) -> Iterator[PlannedFault]:
    """Faults in order of time, none of which lasts to the end of the scripts."""
    draws = list(_DRAWS)
    # Every kind once before any comes again, so that a few short runs meet all of them.
    chance.shuffle(draws)
    if size.lasts_s >= LONG_RUN_S:
        # Early enough that messages wait out their time.
        draws.remove(_crowd)
        draws.insert(chance.randrange(int((size.lasts_s - LONGEST_CROWD_S) / BETWEEN_FAULTS_S / 2)), _crowd)
    at_s = FIRST_FAULT_S + chance.random() * 2
    number = 0
    while at_s < size.lasts_s - CALM_BEFORE_END_S:
        left_s = size.lasts_s - at_s
        for fault in draws[number % len(draws)](chance, at_s, size):
            yield replace(fault, at_s=round(at_s, 3), lasts_s=round(min(fault.lasts_s, left_s), 3))
        at_s += chance.uniform(0.3, 1.7) * BETWEEN_FAULTS_S
        number += 1


def _web(chance: random.Random, size: OrdealSize) -> str:
    return f"web-{chance.randint(1, size.processes)}"


def _any_process(chance: random.Random, size: OrdealSize) -> str:
    webs = [f"web-{number}" for number in range(1, size.processes + 1)]
    return chance.choice([*webs, *webs, "worker", *(f"provider-{name}" for name in PROVIDERS)])


def _kill(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(
        at_s=at_s,
        lasts_s=chance.uniform(0.5, 4),
        kind=OrdealFaultKind.KILL,
        target=_any_process(chance, size),
    )


def _kill_web(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(
        at_s=at_s, lasts_s=chance.uniform(0.5, 3), kind=OrdealFaultKind.KILL, target=_web(chance, size)
    )


def _term(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(
        at_s=at_s, lasts_s=chance.uniform(0.2, 2), kind=OrdealFaultKind.TERM, target=_web(chance, size)
    )


def _stop(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    target = chance.choice([_web(chance, size), _any_process(chance, size), "database", "valkey"])
    # A database that stands still stops everything: shorter, or nothing else would be seen.
    lasts_s = chance.uniform(4, 9) if target == "database" else chance.uniform(4, 25)
    yield PlannedFault(at_s=at_s, lasts_s=lasts_s, kind=OrdealFaultKind.STOP, target=target)


def _roll(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(at_s=at_s, lasts_s=0.0, kind=OrdealFaultKind.ROLL, target="")


def _database(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    how = chance.choice(("fast", "immediate", "smart", "kill", "terminate one", "terminate all", "crash one"))
    yield PlannedFault(
        at_s=at_s, lasts_s=chance.uniform(0, 8), kind=OrdealFaultKind.DATABASE, target="database", how=how
    )


def _disk(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(
        at_s=at_s,
        lasts_s=chance.uniform(3, 8),
        kind=OrdealFaultKind.DISK,
        target="database",
        how=chance.choice(("slow", "full")),
    )


def _clock(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(
        at_s=at_s,
        lasts_s=0.0,
        kind=OrdealFaultKind.CLOCK,
        target="database",
        # A lease that is dated ahead outlives its process by as much.
        amount=round(chance.choice((-chance.uniform(3, 8), chance.uniform(8, 40))), 1),
    )


def _listen(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(at_s=at_s, lasts_s=0.0, kind=OrdealFaultKind.LISTEN, target="database")


def _valkey(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(at_s=at_s, lasts_s=chance.uniform(1, 10), kind=OrdealFaultKind.VALKEY, target="valkey")


def _network(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    side = chance.choice(("page", "database"))
    how = chance.choice(("delay", "half-open", "throttle", "cut"))
    amount = {
        "delay": round(chance.uniform(0.05, 0.6), 3),
        "throttle": round(chance.uniform(2_000, 20_000)),
    }.get(how, 0.0)
    yield PlannedFault(
        at_s=at_s,
        lasts_s=chance.uniform(2, 12),
        kind=OrdealFaultKind.NETWORK,
        target=f"{side} {_web(chance, size)}",
        how=how,
        amount=amount,
    )


def _provider(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    yield PlannedFault(
        at_s=at_s,
        lasts_s=chance.uniform(2, 8),
        kind=OrdealFaultKind.PROVIDER,
        target=chance.choice((*PROVIDERS, "first")),
        how=chance.choice(PROVIDER_WAYS),
        amount=chance.randint(0, 12),
    )


def _crowd(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    """One slow reply at a time, for longer than the waiting room lets a message wait."""
    lasts_s = chance.uniform(16, LONGEST_CROWD_S)
    yield PlannedFault(at_s=at_s, lasts_s=lasts_s, kind=OrdealFaultKind.CHANGE, target="1", how="ceiling")
    for lane in PROVIDERS:
        yield PlannedFault(
            at_s=at_s, lasts_s=lasts_s, kind=OrdealFaultKind.PROVIDER, target=lane, how="slow drip", amount=12
        )


def _change(chance: random.Random, at_s: float, size: OrdealSize) -> Iterator[PlannedFault]:
    how = chance.choice(CHANGES if size.staff else WITHOUT_STAFF)
    targets = {
        "preset": chance.choice(("swapped", "first_only", "second_only", "normal")),
        "ceiling": str(chance.randint(1, size.ceiling + 2)),
        "right": str(chance.randrange(max(1, size.staff))),
        "card": str(chance.randrange(size.people)),
    }
    yield PlannedFault(
        at_s=at_s, lasts_s=chance.uniform(2, 10), kind=OrdealFaultKind.CHANGE, target=targets[how], how=how
    )


_DRAWS: tuple[Callable[[random.Random, float, OrdealSize], Iterator[PlannedFault]], ...] = (
    _kill,
    _kill_web,
    _term,
    _stop,
    _stop,
    _roll,
    _database,
    _database,
    _disk,
    _clock,
    _listen,
    _valkey,
    _network,
    _network,
    _network,
    _provider,
    _provider,
    _provider,
    _change,
    _change,
    _crowd,
)
