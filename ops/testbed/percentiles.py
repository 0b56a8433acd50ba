"""PURE. Percentiles, by the same rule in every measurement."""

from collections.abc import Sequence


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which `part` of the values lie, 0 to 1; 0.0 for no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0
