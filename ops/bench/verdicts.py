"""PURE. What was wanted, held against what was measured in the same run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ops.bench.figures import Figures
from ops.bench.plan import OURS, RELAY_AIOHTTP, RELAY_SERVICE, RELAY_STOCK, RELAY_TUNED, Load, Plan
from ops.bench.run import Findings

TICK_MS = 40.0
MOST_KB_A_SOCKET = 60.0
SLOWEST_FIRST_MS = 500.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One target. `limit` is the most that meets it."""

    what: str
    measured: float
    limit: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the target was reached in this run."""
        return self.measured <= self.limit


def verdicts(plan: Plan, findings: Findings) -> list[Verdict]:
    """Every target for which this run measured both sides."""
    found = [*_sockets(findings)]
    for load in plan.loads:
        figures = findings.loads[load.title]
        found += _of_load(load, figures)
    return found


def _sockets(findings: Findings) -> Iterator[Verdict]:
    if findings.sockets is not None:
        each = findings.sockets.bytes_each / 1000
        yield Verdict(what="memory of an idle socket", measured=each, limit=MOST_KB_A_SOCKET, unit="kB")


def _of_load(load: Load, figures: dict[str, Figures]) -> Iterator[Verdict]:
    ours = figures[OURS]

    def ratio(
        what: str, other: str, limit: float, of: Callable[[Figures], float | None]
    ) -> Iterator[Verdict]:
        floor = of(figures[other]) if other in figures else None
        measured = of(ours)
        if floor and measured is not None:
            yield Verdict(
                what=f"{load.title}: {what}, against {other}", measured=measured / floor, limit=limit
            )

    if load.people == 1 and load.pace_ms == 0:
        yield from ratio("first word", RELAY_SERVICE, 2.0, lambda one: one.first_p50)
    if load.people >= 200 and load.pace_ms <= 10:
        for other, limit in ((RELAY_STOCK, 0.25), (RELAY_TUNED, 1.0)):
            yield from ratio("first word p50", other, limit, lambda one: one.first_p50)
            yield from ratio("first word p95", other, limit, lambda one: one.first_p95)
    if load.people > 1 and load.pace_ms <= 10:
        yield from ratio("CPU per reply", RELAY_AIOHTTP, 1.0, lambda one: one.cpu)
    if load.people >= 200 and load.pace_ms > 10:
        yield Verdict(
            what=f"{load.title}: first word p95", measured=ours.first_p95, limit=SLOWEST_FIRST_MS, unit="ms"
        )
    if RELAY_SERVICE in figures and load.pace_ms > 0:
        behind = ours.word_p50 - figures[RELAY_SERVICE].word_p50
        yield Verdict(
            what=f"{load.title}: a word's delay beyond {RELAY_SERVICE}",
            measured=behind,
            limit=TICK_MS,
            unit="ms",
        )
