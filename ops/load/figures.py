"""PURE. From what everybody heard to the figures of one load test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.bench.figures import percentile
from ops.load.judge import slots_taken
from ops.load.stored import Kept

POINTS = 101
"""Of each curve: its percentiles from 0 to 100."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How something that was measured many times is spread."""

    count: int
    p50: float
    p95: float
    p99: float
    most: float
    curve: tuple[float, ...] = field(repr=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of these values; all noughts when there are none."""
        return cls(
            count=len(values),
            p50=percentile(values, 0.5),
            p95=percentile(values, 0.95),
            p99=percentile(values, 0.99),
            most=max(values, default=0.0),
            curve=tuple(percentile(values, place / (POINTS - 1)) for place in range(POINTS))
            if values
            else (),
        )


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One load test. Milliseconds, but for counts, words and seconds that say so."""

    session_start: Spread
    first_word: Spread
    """From Send to the first words on the page, with any wait."""
    wait: Spread
    """In the waiting room, of those who waited."""
    words_per_s: Spread
    slot_taken: Spread
    gaps: Mapping[str, float]
    sent_gaps: Mapping[str, float]
    """Between the words as the provider sent them."""
    waited: int
    returned: int
    """How often a page had to come back."""
    ends: Mapping[str, int]
    open_at_once: int


def of(told: Mapping[str, Any], kept: Sequence[Kept]) -> Figures:
    """The figures of what was heard and of what was stored."""
    turns = told["turns"]
    ends: dict[str, int] = {}
    for turn in turns:
        ends[turn["how"]] = ends.get(turn["how"], 0) + 1
    queued = {turn["turn"] for turn in turns if turn["waited"]}
    waits = [
        ((one.admitted_at or one.closed_at or one.created_at) - one.created_at) * 1000
        for one in kept
        if one.turn in queued
    ]
    return Figures(
        session_start=Spread.of([seconds * 1000 for seconds in told["opened_s"]]),
        first_word=Spread.of(
            [(turn["first_at"] - turn["asked_at"]) * 1000 for turn in turns if turn["first_at"]]
        ),
        wait=Spread.of(waits),
        words_per_s=Spread.of(
            [(turn["words"] - 1) / turn["speaking_s"] for turn in turns if turn["speaking_s"]]
        ),
        slot_taken=Spread.of([seconds * 1000 for seconds in slots_taken(kept)]),
        gaps=told["gaps_ms"],
        sent_gaps=told["sent_gaps_ms"],
        waited=len(queued),
        returned=sum(turn["returns"] for turn in turns) + told["lost"],
        ends=dict(sorted(ends.items())),
        open_at_once=told["open_at_once"],
    )
