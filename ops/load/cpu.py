"""CPU seconds that each part of a load test used: the kernel's clock of its processes."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

CROWD = "crowd"


@dataclass(kw_only=True)
class CpuShares:
    """CPU seconds by part, over `took_s` seconds. Empty where the processes are not known."""

    took_s: float = 0.0
    by_part: dict[str, float] = field(default_factory=dict)

    @property
    def total_s(self) -> float:
        """Of all parts together."""
        return sum(self.by_part.values())

    def with_crowd(self, cpu_s: float) -> "CpuShares":
        """Add what the crowd has used by its own count. Without the other parts its share means nothing."""
        if self.by_part:
            self.by_part[CROWD] = cpu_s
        return self


@contextmanager
def measure_cpu(meters: Mapping[str, Callable[[], float]]) -> Iterator[CpuShares]:
    """Measure the block. The figures are there after it."""
    shares = CpuShares()
    began, before = time.monotonic(), {part: read() for part, read in meters.items()}
    yield shares
    shares.took_s = time.monotonic() - began
    shares.by_part = {part: read() - before[part] for part, read in meters.items()}
