"""PURE. The speeds that are wanted on two cores, held against one load test. Told, never enforced: machines differ."""

from collections.abc import Iterator
from dataclasses import dataclass

from ops.load.figures import Figures
from ops.load.plan import Plan

BURST, START_MS = 200, 1_000.0
RECONNECTS = 1_500
TAKEN_MS = 50.0
IN_FLIGHT, GAP_TIMES = 500, 2.0
IDLE = 5_000


@dataclass(frozen=True, kw_only=True)
class Target:
    """One speed. `limit` is the most, or where `at_least` the least, that meets it."""

    what: str
    measured: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it was reached this time."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def targets(plan: Plan, figures: Figures, *, processes: int, peak: int, failed: int) -> Iterator[Target]:
    """The targets that a test of this size says something about."""
    # The burst that is spoken of is this one; a greater one takes longer, and is judged by nobody failing.
    if BURST <= plan.sessions < 2 * BURST and not plan.ramp_s:
        start = figures.session_start.p95
        yield Target(
            what=f"{plan.sessions} session starts at once, p95", measured=start, limit=START_MS, unit="ms"
        )
    if plan.sessions >= RECONNECTS and not plan.ramp_s:
        what = f"{plan.sessions} connects at once, failed"
        yield Target(what=what, measured=failed, limit=0, unit="")
    if figures.slot_taken.count:
        taken = figures.slot_taken.p95
        yield Target(what="a freed slot is taken, p95", measured=taken, limit=TAKEN_MS, unit="ms")
    if peak >= IN_FLIGHT and processes == 1 and figures.sent_gaps["p99"]:
        ratio = figures.gaps["p99"] / figures.sent_gaps["p99"]
        what = f"{peak} turns on one process: word gap p99, against the provider's"
        yield Target(what=what, measured=ratio, limit=GAP_TIMES, unit="times")
    if plan.sessions >= IDLE and processes == 1:
        what = "sockets open at once on one process"
        yield Target(what=what, measured=figures.open_at_once, limit=IDLE, unit="", at_least=True)
