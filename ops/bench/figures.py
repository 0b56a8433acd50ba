"""PURE. From what people heard and what processes used to the figures of one round, and of several."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One system under one load. Milliseconds, but for counts; None where nothing could be measured."""

    first_p50: float
    first_p95: float
    word_p50: float
    word_p95: float
    cpu: float | None
    """CPU of the serving process for one reply."""
    database_cpu: float | None
    client_cpu: float
    answered: int
    asked: int


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which `part` of them lie; 0 when there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def of_round(
    answer: Mapping[str, Any],
    started: Mapping[str, float],
    *,
    asked: int,
    words: int,
    cpu_s: float | None,
    database_cpu_s: float | None,
) -> Figures:
    """One round. `started` says when each question reached the provider.

    What is added to the first word is the way there and the way back; the provider's own time is neither.
    """
    whole = [
        one
        for one in answer["heard"]
        if one["whole"] and len(one["delays"]) == words and one["question"] in started
    ]
    first = [(started[one["question"]] - one["asked_at"] + one["delays"][0]) * 1000 for one in whole]
    later = [delay * 1000 for one in whole for delay in one["delays"][1:]]
    return Figures(
        first_p50=percentile(first, 0.5),
        first_p95=percentile(first, 0.95),
        word_p50=percentile(later, 0.5),
        word_p95=percentile(later, 0.95),
        cpu=None if cpu_s is None else cpu_s * 1000 / asked,
        database_cpu=None if database_cpu_s is None else database_cpu_s * 1000 / asked,
        client_cpu=answer["client_cpu_s"] * 1000 / asked,
        answered=len(whole),
        asked=asked,
    )


def together(rounds: Sequence[Figures]) -> Figures:
    """Several rounds as one: the median of each figure, the sum of the answers."""

    def middle(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None

    return Figures(
        first_p50=statistics.median(one.first_p50 for one in rounds),
        first_p95=statistics.median(one.first_p95 for one in rounds),
        word_p50=statistics.median(one.word_p50 for one in rounds),
        word_p95=statistics.median(one.word_p95 for one in rounds),
        cpu=middle([one.cpu for one in rounds]),
        database_cpu=middle([one.database_cpu for one in rounds]),
        client_cpu=statistics.median(one.client_cpu for one in rounds),
        answered=sum(one.answered for one in rounds),
        asked=sum(one.asked for one in rounds),
    )
