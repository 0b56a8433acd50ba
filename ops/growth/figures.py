"""PURE. What one operation cost at each size, and whether it grew."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from ops.growth.plans import MAX_ROWS_READ, StatementPlan, find_faults

FLAT_RATIO = 1.5
"""A cost within this ratio of that of the smallest size is flat."""
FLOOR_ROWS, FLOOR_BLOCKS = 100, 300
"""A cost below these counts as these: twice next to nothing is next to nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedPlan:
    """A plan as the server logged it, with the name of the program that ran the statement."""

    program: str
    plan: StatementPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class StatementCost:
    """One statement of an operation: how often it ran for each time the operation was done, and its usual plan."""

    times: int
    plan: StatementPlan


@dataclass(frozen=True, kw_only=True)
class OperationCost:
    """What an operation cost at one size, once. `times_ms` by what was timed, the whole last."""

    statements: tuple[StatementCost, ...]
    times_ms: Mapping[str, float] = field(default_factory=dict)
    units: float = 1.0
    """What its rows and blocks are divided by, where it goes through many equal things."""

    @property
    def rows_read(self) -> float:
        return sum(one.times * one.plan.rows_read for one in self.statements) / self.units

    @property
    def rows_returned(self) -> float:
        return sum(one.times * one.plan.rows_returned for one in self.statements) / self.units

    @property
    def blocks(self) -> float:
        """Blocks of 8 kB that its statements touched, in memory or on disk."""
        return sum(one.times * one.plan.blocks for one in self.statements) / self.units

    @property
    def time_ms(self) -> float | None:
        return list(self.times_ms.values())[-1] / self.units if self.times_ms else None

    @property
    def faults(self) -> list[tuple[str, str]]:
        """(statement, what is wrong with its plan)."""
        return find_faults([one.plan for one in self.statements])


@dataclass(frozen=True, kw_only=True, slots=True)
class Background:
    """How often a second the processes run each statement by themselves, by program and text."""

    rates: Mapping[tuple[str, str], float]

    @classmethod
    def measure(cls, logged: Sequence[LoggedPlan], *, seconds: float) -> "Background":
        """From what was logged while nothing was asked of them."""
        counts = Counter((one.program, one.plan.text) for one in logged)
        return cls(rates={statement: count / seconds for statement, count in counts.items()})


def attribute(
    logged: Sequence[LoggedPlan], background: Background, *, repeats: int, seconds: float
) -> tuple[StatementCost, ...]:
    """The statements of an operation that was done `repeats` times within `seconds`.

    What the processes ran by themselves meanwhile is taken off. What they run once a minute is logged in fewer than
    half of the repeats, and does not count.
    """
    by_text: dict[tuple[str, str], list[StatementPlan]] = defaultdict(list)
    for one in logged:
        by_text[one.program, one.plan.text].append(one.plan)
    costs = []
    for statement, plans in by_text.items():
        own = len(plans) - background.rates.get(statement, 0.0) * seconds
        times = math.floor(own / repeats + 0.49)
        if times > 0:
            costs.append(StatementCost(times=times, plan=_usual(plans)))
    return tuple(costs)


def count_by_second(logged: Sequence[LoggedPlan], *, seconds: float) -> OperationCost:
    """What processes do by themselves in one second, from what they did in `seconds`."""
    return OperationCost(
        statements=tuple(StatementCost(times=1, plan=one.plan) for one in logged), units=seconds
    )


def _usual(plans: Sequence[StatementPlan]) -> StatementPlan:
    middle = median(plan.rows_read for plan in plans)
    return min(plans, key=lambda plan: abs(plan.rows_read - middle))


@dataclass(frozen=True, kw_only=True)
class OperationGrowth:
    """One operation at the sizes of one thing that grows, in rising order."""

    growing: str
    operation: str
    title: str
    costs: Mapping[int, OperationCost]

    @property
    def rows_ratio(self) -> float:
        """Rows read at the largest size to those at the smallest. Where more is returned, for each row returned."""
        return self._ratio([max(FLOOR_ROWS, cost.rows_read) for cost in self.costs.values()], first=0)

    @property
    def blocks_ratio(self) -> float:
        """The same of blocks."""
        return self._ratio([max(FLOOR_BLOCKS, cost.blocks) for cost in self.costs.values()], first=0)

    @property
    def time_ratio(self) -> float | None:
        """The same of the time, whatever is returned; None: it was not timed."""
        first, *_, last = (
            (cost.time_ms for cost in self.costs.values()) if len(self.costs) > 1 else (None, None)
        )
        return last / first if first and last else None

    @property
    def bound(self) -> float:
        """The highest ratio that counts as flat or logarithmic."""
        smallest, *_, largest = self.costs
        return max(FLAT_RATIO, math.log(largest) / math.log(smallest))

    @property
    def verdict(self) -> str:
        """`flat`, `logarithmic`, `bounded` (what it reads has a limit, which is reached before the largest size) or
        `GROWS`."""
        ratio = max(self.rows_ratio, self.blocks_ratio)
        if ratio <= FLAT_RATIO:
            return "flat"
        if ratio <= self.bound:
            return "logarithmic"
        if self._is_bounded:
            return "bounded"
        return "GROWS"

    @property
    def faults(self) -> list[tuple[str, str]]:
        """(statement, what is wrong with its plan) at the largest size."""
        return list(self.costs.values())[-1].faults

    @property
    def holds(self) -> bool:
        return self.verdict != "GROWS" and not self.faults

    @property
    def _is_bounded(self) -> bool:
        """Whether no statement reads more than one may, and the last of several steps to the largest size was flat."""
        largest = list(self.costs.values())[-1]
        if any(one.plan.rows_read > MAX_ROWS_READ for one in largest.statements):
            return False
        rows = [max(FLOOR_ROWS, cost.rows_read) for cost in self.costs.values()]
        blocks = [max(FLOOR_BLOCKS, cost.blocks) for cost in self.costs.values()]
        return (
            len(self.costs) == 2
            or max(self._ratio(rows, first=-2), self._ratio(blocks, first=-2)) <= FLAT_RATIO
        )

    def _ratio(self, values: Sequence[float], *, first: int) -> float:
        returned = [max(1.0, cost.rows_returned) for cost in self.costs.values()]
        return values[-1] / values[first] / max(1.0, returned[-1] / returned[first])
