"""The last hour, minute by minute: how many spoke and waited at most, and how turns ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Minute:
    """One minute. `speaking` and `waiting` are the most at any moment of it."""

    begins: datetime
    speaking: int
    waiting: int
    complete: int
    paused: int
    refused: int
    stopped: int

    def to_row(self) -> list[object]:
        """As frames carry it: time, speaking, waiting, complete, paused, refused, stopped."""
        counts = [self.complete, self.paused, self.refused, self.stopped]
        return [f"{self.begins:%H:%M}", self.speaking, self.waiting, *counts]


def build_minutes(kept: Iterable[tuple[datetime, Mapping[str, Any]]]) -> list[Minute]:
    """The minutes of a `LastHour`, oldest first. A minute without moves keeps the level of the one before."""
    speaking_before = waiting_before = 0
    built = []
    for begins, figures in kept:
        speaking, waiting, speaking_last, waiting_last = figures.get("levels") or [0, 0, None, None]
        ended = figures.get("states", {})
        built.append(
            Minute(
                begins=begins,
                # The minute began with the level of the one before.
                speaking=max(speaking_before, speaking),
                waiting=max(waiting_before, waiting),
                complete=ended.get("complete", 0),
                paused=ended.get("paused", 0),
                refused=ended.get("refused", 0),
                stopped=ended.get("stopped", 0),
            )
        )
        if speaking_last is not None:
            speaking_before, waiting_before = speaking_last, waiting_last
    return built
