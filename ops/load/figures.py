"""PURE. The figures of one load test, from the crowd's results and the stored turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.load.invariants import slot_delays
from ops.load.stored import StoredTurn
from ops.testbed.percentiles import percentile

CURVE_POINTS = 101
"""Percentiles of each curve, from 0 to 100."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """The distribution of a value that was measured many times."""

    count: int
    p50: float
    p95: float
    p99: float
    most: float
    curve: tuple[float, ...] = field(repr=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> "Distribution":
        """The distribution of these values; all zeros without any."""
        return cls(
            count=len(values),
            p50=percentile(values, 0.5),
            p95=percentile(values, 0.95),
            p99=percentile(values, 0.99),
            most=max(values, default=0.0),
            curve=tuple(percentile(values, place / (CURVE_POINTS - 1)) for place in range(CURVE_POINTS))
            if values
            else (),
        )


@dataclass(frozen=True, kw_only=True)
class LoadFigures:
    """One load test. Times in milliseconds."""

    session_start: Distribution
    first_word: Distribution
    """From Send to the first words on the page, waiting included."""
    wait: Distribution
    """Time in the waiting room, of turns that waited."""
    words_per_s: Distribution
    slot_taken: Distribution
    gaps: Mapping[str, float]
    sent_gaps: Mapping[str, float]
    """Between words as the provider sent them."""
    waited: int
    returned: int
    """How often a page had to reconnect."""
    ends: Mapping[str, int]
    open_at_once: int


def summarize(results: Mapping[str, Any], stored: Sequence[StoredTurn]) -> LoadFigures:
    """Combine the crowd's results with the stored turns."""
    turns = results["turns"]
    ends: dict[str, int] = {}
    for turn in turns:
        ends[turn["how"]] = ends.get(turn["how"], 0) + 1
    queued = {turn["turn"] for turn in turns if turn["waited"]}
    waits = [
        ((turn.admitted_at or turn.closed_at or turn.created_at) - turn.created_at) * 1000
        for turn in stored
        if turn.turn in queued
    ]
    return LoadFigures(
        session_start=Distribution.of([seconds * 1000 for seconds in results["opened_s"]]),
        first_word=Distribution.of(
            [(turn["first_at"] - turn["asked_at"]) * 1000 for turn in turns if turn["first_at"]]
        ),
        wait=Distribution.of(waits),
        words_per_s=Distribution.of(
            [(turn["words"] - 1) / turn["speaking_s"] for turn in turns if turn["speaking_s"]]
        ),
        slot_taken=Distribution.of([seconds * 1000 for seconds in slot_delays(stored)]),
        gaps=results["gaps_ms"],
        sent_gaps=results["sent_gaps_ms"],
        waited=len(queued),
        returned=sum(turn["returns"] for turn in turns) + results["lost"],
        ends=dict(sorted(ends.items())),
        open_at_once=results["open_at_once"],
    )
