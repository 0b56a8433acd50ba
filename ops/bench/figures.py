"""PURE. The figures of one round, and of several, from replies and the CPU that processes used."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.testbed.percentiles import percentile


@dataclass(frozen=True, kw_only=True)
class RoundFigures:
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


def summarize_round(
    answer: Mapping[str, Any],
    started: Mapping[str, float],
    *,
    asked: int,
    words: int,
    cpu_s: float | None,
    database_cpu_s: float | None,
) -> RoundFigures:
    """The figures of one round. `started` says when each question reached the provider.

    The delay of the first word is the time to the provider and the time back, without the provider's own time.
    """
    whole = [
        reply
        for reply in answer["replies"]
        if reply["whole"] and len(reply["delays"]) == words and reply["question"] in started
    ]
    first = [(started[reply["question"]] - reply["asked_at"] + reply["delays"][0]) * 1000 for reply in whole]
    later = [delay * 1000 for reply in whole for delay in reply["delays"][1:]]
    return RoundFigures(
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


def combine_rounds(rounds: Sequence[RoundFigures]) -> RoundFigures:
    """Combine rounds: the median of each figure, the sum of the answers."""

    def median_of_known(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None

    return RoundFigures(
        first_p50=statistics.median(figures.first_p50 for figures in rounds),
        first_p95=statistics.median(figures.first_p95 for figures in rounds),
        word_p50=statistics.median(figures.word_p50 for figures in rounds),
        word_p95=statistics.median(figures.word_p95 for figures in rounds),
        cpu=median_of_known([figures.cpu for figures in rounds]),
        database_cpu=median_of_known([figures.database_cpu for figures in rounds]),
        client_cpu=statistics.median(figures.client_cpu for figures in rounds),
        answered=sum(figures.answered for figures in rounds),
        asked=sum(figures.asked for figures in rounds),
    )
