"""PURE. Curves as points in a box, for the report's drawings."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 200


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A drawing: `points` go into a polyline, `limit_y` is the height of a level line, None without one."""

    title: str
    points: str
    top: str
    """What the upper edge stands for."""
    right: str
    """What the right edge stands for."""
    limit_y: float | None = None
    limit: str = ""
    described: str = ""
    """The same in words, for whoever cannot see it."""


def curve(title: str, values: Sequence[float], *, unit: str, described: str) -> Plot | None:
    """Percentiles from left to right. None when there is nothing to draw."""
    if not values:
        return None
    most = max(values) or 1.0
    step = WIDTH / max(1, len(values) - 1)
    points = [(place * step, HEIGHT * (1 - value / most)) for place, value in enumerate(values)]
    return Plot(
        title=title,
        points=_points(points),
        top=f"{most:,.0f} {unit}",
        right="100 of 100",
        described=described,
    )


def steps(title: str, samples: Sequence[tuple[float, int]], *, limit: int, limit_named: str) -> Plot | None:
    """A count that changes over time, in seconds, under a limit."""
    if not samples:
        return None
    ends = samples[-1][0] or 1.0
    most = max(limit, *(count for _, count in samples))
    points: list[tuple[float, float]] = []
    for at, count in _thinned(samples, WIDTH):
        x = WIDTH * at / ends
        if points:
            points.append((x, points[-1][1]))
        points.append((x, HEIGHT * (1 - count / most)))
    return Plot(
        title=title,
        points=_points(points),
        top=str(most),
        right=f"{ends:.0f} s",
        limit_y=round(HEIGHT * (1 - limit / most), 1),
        limit=limit_named,
        described=f"At most {max(count for _, count in samples)} over {ends:.0f} seconds; {limit_named}.",
    )


def _thinned(samples: Sequence[tuple[float, int]], most: int) -> list[tuple[float, int]]:
    """At most so many samples, and of each group the highest, so that no peak is lost."""
    size = -(-len(samples) // most)
    groups = (samples[start : start + size] for start in range(0, len(samples), size))
    return [max(group, key=lambda sample: sample[1]) for group in groups]


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
