"""PURE. Target speeds on two cores, compared with one load test. Reported, never enforced: machines differ."""

from collections.abc import Iterator
from dataclasses import dataclass

from ops.load.figures import LoadFigures
from ops.load.plan import LoadPlan

BURST_SESSIONS, MAX_SESSION_START_MS = 200, 1_000.0
RECONNECT_SESSIONS = 1_500
MAX_SLOT_TAKEN_MS = 50.0
LOADED_TURNS, MAX_GAP_RATIO = 500, 2.0
MAX_GAP_RATIO_OF_MANY = 3.0
"""On several processes, which share the two cores with each other, PostgreSQL, the provider and the crowd."""
IDLE_SOCKETS = 5_000


@dataclass(frozen=True, kw_only=True)
class SpeedTarget:
    """One target and its measured value. `limit` is the highest value that meets it, or with `at_least` the lowest."""

    what: str
    measured: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether this test reached the target."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def check_targets(
    plan: LoadPlan, figures: LoadFigures, *, processes: int, peak: int, failed: int
) -> Iterator[SpeedTarget]:
    """The targets that apply to a test of this size."""
    # The target is for this size of burst. A larger burst takes longer; its target is that no connect fails.
    if BURST_SESSIONS <= plan.sessions < 2 * BURST_SESSIONS and not plan.ramp_s:
        start = figures.session_start.p95
        yield SpeedTarget(
            what=f"{plan.sessions} session starts at once, p95",
            measured=start,
            limit=MAX_SESSION_START_MS,
            unit="ms",
        )
    if plan.sessions >= RECONNECT_SESSIONS and not plan.ramp_s:
        what = f"{plan.sessions} connects at once, failed"
        yield SpeedTarget(what=what, measured=failed, limit=0, unit="")
    if figures.slot_taken.count:
        taken = figures.slot_taken.p95
        yield SpeedTarget(
            what="a freed slot is taken, p95", measured=taken, limit=MAX_SLOT_TAKEN_MS, unit="ms"
        )
    if peak >= LOADED_TURNS and figures.sent_gaps["p99"]:
        ratio = figures.gaps["p99"] / figures.sent_gaps["p99"]
        where, limit = (
            ("one process", MAX_GAP_RATIO)
            if processes == 1
            else (f"{processes} processes", MAX_GAP_RATIO_OF_MANY)
        )
        what = f"{peak} turns on {where}: word gap p99, against the provider's"
        yield SpeedTarget(what=what, measured=ratio, limit=limit, unit="times")
    if plan.sessions >= IDLE_SOCKETS and processes == 1:
        what = "sockets open at once on one process"
        yield SpeedTarget(
            what=what, measured=figures.open_at_once, limit=IDLE_SOCKETS, unit="", at_least=True
        )
