"""PURE. Curves as points of an SVG polyline, for the plots of reports."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 200


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One plot: `points` go into a polyline, `limit_y` is the y of a horizontal line, None without one."""

    title: str
    points: str
    top: str
    """Label of the upper edge."""
    right: str
    """Label of the right edge."""
    left: str = "0"
    """Label of the left edge."""
    limit_y: float | None = None
    limit: str = ""
    described: str = ""
    """Text alternative for screen readers."""


def plot_percentiles(title: str, values: Sequence[float], *, unit: str, described: str) -> Plot | None:
    """Percentiles from left to right. None without values."""
    if not values:
        return None
    highest = max(values) or 1.0
    step = WIDTH / max(1, len(values) - 1)
    points = [(place * step, HEIGHT * (1 - value / highest)) for place, value in enumerate(values)]
    return Plot(
        title=title,
        points=_format_points(points),
        top=f"{highest:,.0f} {unit}",
        right="100 of 100",
        described=described,
    )


def plot_steps(
    title: str, samples: Sequence[tuple[float, int]], *, limit: int, limit_label: str
) -> Plot | None:
    """A count that changes over time, in seconds, and its limit. None without samples."""
    if not samples:
        return None
    ends = samples[-1][0] or 1.0
    highest = max(limit, *(count for _, count in samples))
    points: list[tuple[float, float]] = []
    for at, count in _downsample(samples, WIDTH):
        x = WIDTH * at / ends
        if points:
            points.append((x, points[-1][1]))
        points.append((x, HEIGHT * (1 - count / highest)))
    return Plot(
        title=title,
        points=_format_points(points),
        top=str(highest),
        right=f"{ends:.0f} s",
        limit_y=round(HEIGHT * (1 - limit / highest), 1),
        limit=limit_label,
        described=f"At most {max(count for _, count in samples)} over {ends:.0f} seconds; {limit_label}.",
    )


def plot_sizes(title: str, values: Sequence[tuple[int, float]], *, unit: str, described: str) -> Plot | None:
    """A value at each of some sizes, the sizes evenly spaced, in order. None with fewer than two."""
    if len(values) < 2:
        return None
    highest = max(value for _, value in values) or 1.0
    step = WIDTH / (len(values) - 1)
    return Plot(
        title=title,
        points=_format_points(
            [(place * step, HEIGHT * (1 - value / highest)) for place, (_, value) in enumerate(values)]
        ),
        top=f"{highest:,.0f} {unit}",
        left=f"{values[0][0]:,}",
        right=f"{values[-1][0]:,}",
        described=described,
    )


def _downsample(samples: Sequence[tuple[float, int]], max_samples: int) -> list[tuple[float, int]]:
    """At most `max_samples`: the highest of each group, so that no peak is lost."""
    size = -(-len(samples) // max_samples)
    groups = (samples[start : start + size] for start in range(0, len(samples), size))
    return [max(group, key=lambda sample: sample[1]) for group in groups]


def _format_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
