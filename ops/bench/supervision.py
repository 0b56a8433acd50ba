"""Measures what supervision adds: noticing, the way of a flag to the screens of staff, and reading along."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ops.bench.crowd_process import CrowdProcess, DeskCrowdProcess
from ops.bench.noticing import measure_noticing
from ops.bench.plan import WATCH_PACE_MS, BenchLoad, SupervisionLoad
from ops.bench.provider import set_pace
from ops.testbed.percentiles import percentile
from ops.testbed.rehearsal_provider import RehearsalProvider

ROUND_PAUSE_S = 0.3


@dataclass(frozen=True, kw_only=True)
class FlagFigures:
    """The way of red messages in milliseconds: until the writer's page knows that it is stored, and until each screen
    shows the flag. No flag can be shown before its message is stored."""

    stored_p50: float
    stored_p95: float
    shown_p50: float
    shown_p95: float
    shown: int
    expected: int


@dataclass(frozen=True, kw_only=True)
class SupervisionFigures:
    """What supervision adds. CPU in milliseconds: of one message, and of the serving process for one reply."""

    noticing_p50: float
    noticing_p95: float
    flags: dict[str, FlagFigures]
    """By what the people did meanwhile."""
    cpu_alone: float
    cpu_watched: float
    watched_ratio: float
    """The median of the rounds, each with reading along against the one before without."""


class SupervisionBench:
    """One measurement, with the people already connected and the screens open. `cpu` is of the serving process."""

    def __init__(
        self,
        load: SupervisionLoad,
        *,
        crowd: CrowdProcess,
        desk: DeskCrowdProcess,
        provider: RehearsalProvider,
        cpu: Callable[[], float],
        conversations: Sequence[int],
    ) -> None:
        self._load = load
        self._crowd = crowd
        self._desk = desk
        self._provider = provider
        self._cpu = cpu
        self._watched = conversations[: load.watched]

    def measure(self) -> SupervisionFigures:
        """Measure all of it."""
        noticing = measure_noticing()
        flags = {
            "with no reply under way": self._ring(),
            "with replies to a quarter of them": self._ring_busy(),
        }
        alone, watched = self._read_along()
        return SupervisionFigures(
            noticing_p50=percentile(noticing, 0.5),
            noticing_p95=percentile(noticing, 0.95),
            flags=flags,
            cpu_alone=statistics.median(alone),
            cpu_watched=statistics.median(watched),
            watched_ratio=statistics.median(
                after / before for before, after in zip(alone, watched, strict=True)
            ),
        )

    def _ring(self) -> FlagFigures:
        return summarize_flags(
            self._desk.ring(self._load.flags), expected=self._load.flags * self._load.screens
        )

    def _ring_busy(self) -> FlagFigures:
        self._set_pace(40)
        places = range(max(1, self._load.people // 4))
        self._crowd.begin_asking("While flags ring", places=places, times=self._load.busy_times)
        figures = self._ring()
        self._crowd.receive()
        return figures

    def _read_along(self) -> tuple[list[float], list[float]]:
        """CPU of each round without reading along, and of each with it, by turns."""
        self._set_pace(WATCH_PACE_MS)
        self._round("Before")
        alone, watched = [], []
        for number in range(self._load.rounds):
            alone.append(self._round(f"Alone {number}"))
            self._desk.watch(self._watched)
            watched.append(self._round(f"Watched {number}"))
            self._desk.unwatch(self._watched)
        return alone, watched

    def _round(self, label: str) -> float:
        time.sleep(ROUND_PAUSE_S)
        before = self._cpu()
        self._crowd.ask(label, places=range(self._load.people), times=1)
        time.sleep(ROUND_PAUSE_S)
        return (self._cpu() - before) * 1000 / self._load.people

    def _set_pace(self, pace_ms: float) -> None:
        set_pace(
            self._provider,
            BenchLoad(people=self._load.people, pace_ms=pace_ms, first_word_ms=100, rounds=self._load.rounds),
        )


def summarize_flags(times: dict[str, Any], *, expected: int) -> FlagFigures:
    """The figures of one order to ring."""
    stored = [one * 1000 for one in times["stored_s"]]
    shown = [one * 1000 for one in times["shown_s"]]
    return FlagFigures(
        stored_p50=percentile(stored, 0.5),
        stored_p95=percentile(stored, 0.95),
        shown_p50=percentile(shown, 0.5),
        shown_p95=percentile(shown, 0.95),
        shown=len(shown),
        expected=expected,
    )
