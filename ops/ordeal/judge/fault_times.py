"""When which fault was in force, with the time that recovery from it may take. PURE."""

from collections.abc import Iterable
from dataclasses import dataclass

from ops.ordeal.history import History

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

    def __init__(self, history: History, *, settle_s: float) -> None:
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


def _pair(history: History) -> Iterable[FaultSpan]:
    running: dict[tuple[str, str], float] = {}
    for event in history.of("fault", "begins", "ends"):
        place = (str(event.data["fault"]), str(event.data.get("target") or ""))
        if event.what == "begins":
            running.setdefault(place, event.at)
        elif place in running:
            yield FaultSpan(fault=place[0], target=place[1], begins=running.pop(place), ends=event.at)
    for (fault, target), begins in running.items():
        yield FaultSpan(fault=fault, target=target, begins=begins, ends=float("inf"))
