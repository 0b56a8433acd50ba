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

    def row(self) -> list[object]:
        """As a page is told it."""
        counts = [self.complete, self.paused, self.refused, self.stopped]
        return [f"{self.begins:%H:%M}", self.speaking, self.waiting, *counts]


def minutes(found: Iterable[tuple[datetime, Mapping[str, Any]]]) -> list[Minute]:
    """The minutes of a `LastHour`, oldest first. One in which nothing moved keeps the level of the one before."""
    speaking_before = waiting_before = 0
    told = []
    for begins, figures in found:
        speaking, waiting, speaking_last, waiting_last = figures.get("levels") or [0, 0, None, None]
        ended = figures.get("states", {})
        told.append(
            Minute(
                begins=begins,
                # A level that was there when the minute began was there at some moment of it.
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
    return told
