"""When which fault was in force, with the time that recovery from it may take. PURE."""

from collections.abc import Iterable
from dataclasses import dataclass

from ops.ordeal.history import RunHistory

LANE_PREFIX = "provider-"
"""Of the name of the process behind a lane."""
ON_PROCESSES = frozenset({"kill", "term", "stop", "roll"})
ON_STORAGE = frozenset({"database", "disk", "clock", "network", "listen"})
ON_PROVIDERS = frozenset({"provider"})
ON_ALL = ON_PROCESSES | ON_STORAGE | ON_PROVIDERS | {"valkey", "page"}
BREAKERS_REST_S = 60.0
"""After a fault of a provider its lanes may take fewer turns for so long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultSpan:
    """One fault from its beginning to its end, in seconds since the start. `ends` is infinite if it never ended."""

    fault: str
    target: str
    begins: float
    ends: float


class FaultTimes:
    """All faults of one history. A fault disturbs from its beginning to `settle_s` after its end."""

    def __init__(self, history: RunHistory, *, settle_s: float) -> None:
        self.settle_s = settle_s
        self.spans = list(_pair(history))

    def touch(
        self,
        begins: float,
        ends: float,
        kinds: Iterable[str],
        *,
        target: str | None = None,
        settle_s: float | None = None,
    ) -> bool:
        """Whether such a fault, or its aftermath, overlaps this time. `target`: only faults on it or on everything."""
        return any(True for _ in self._overlaps(begins, ends, kinds, target, settle_s))

    def seconds(
        self, begins: float, ends: float, kinds: Iterable[str], *, target: str | None = None
    ) -> float:
        """How much of this time such faults and their aftermath cover."""
        covered, reached = 0.0, begins
        for span_begins, span_ends in sorted(self._overlaps(begins, ends, kinds, target, None)):
            covered += max(0.0, min(span_ends, ends) - max(span_begins, reached))
            reached = max(reached, span_ends)
        return covered

    def _overlaps(
        self,
        begins: float,
        ends: float,
        kinds: Iterable[str],
        target: str | None,
        settle_s: float | None,
    ) -> Iterable[tuple[float, float]]:
        after_s = self.settle_s if settle_s is None else settle_s
        wanted = frozenset(kinds)
        for span in self.spans:
            if span.fault not in wanted or (target not in (None, span.target) and span.target):
                continue
            if span.begins <= ends and span.ends + after_s >= begins:
                yield span.begins, span.ends + after_s


def _pair(history: RunHistory) -> Iterable[FaultSpan]:
    running: dict[tuple[str, str], tuple[float, float]] = {}
    for event in history.of("fault", "begins", "ends"):
        place = (str(event.data["fault"]), str(event.data.get("target") or ""))
        if event.what == "begins":
            # After a jump of the clock, leases end later, or seem to have ended, for as long as it jumped.
            lasts_s = abs(float(event.data.get("amount") or 0.0)) if place[0] == "clock" else 0.0
            running.setdefault(place, (event.at, lasts_s))
        elif place in running:
            begins, lasts_s = running.pop(place)
            yield _classify(*place, begins, event.at + lasts_s)
    for place, (begins, _) in running.items():
        yield _classify(*place, begins, float("inf"))


def _classify(fault: str, target: str, begins: float, ends: float) -> FaultSpan:
    """What is hit decides the kind. A database has no target: it serves all processes."""
    if fault == "network":
        side, _, target = target.rpartition(" ")
        fault = "page" if side == "page" else "network"
    elif target in ("database", "valkey", "worker"):
        fault, target = target if fault in ON_PROCESSES else fault, ""
    elif target.startswith(LANE_PREFIX):
        fault, target = "provider", target.removeprefix(LANE_PREFIX)
    return FaultSpan(fault=fault, target=target, begins=begins, ends=ends)
