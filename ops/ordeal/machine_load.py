"""How busy the machine of a run was, and how much longer things may take there. PURE."""

from dataclasses import dataclass, field

from ops.ordeal.history import RunHistory

TASKS_PER_CORE = 6.0
"""With so many tasks ready to run for each core, deadlines hold as they are: the product keeps them on such a machine,
and longer ones would let a slot that is not freed pass.
"""
NEAR_S = 1.0
"""A sample is about the second before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadSample:
    """One second of the machine, at its end. `late_s`: how late the loop of the run itself came, all in all."""

    at: float
    runnable: float
    """Tasks that were ready to run, on average."""
    cores: int
    late_s: float = 0.0


@dataclass(kw_only=True)
class MachineLoad:
    """The samples of one run, in order of time."""

    samples: list[LoadSample] = field(default_factory=list)

    @property
    def mean_runnable(self) -> float:
        """Tasks that were ready to run, over the whole run."""
        return sum(one.runnable for one in self.samples) / max(1, len(self.samples))

    @property
    def most_runnable(self) -> float:
        return max((one.runnable for one in self.samples), default=0.0)

    def allow(self, limit_s: float, begins: float, ends: float) -> float:
        """The limit for something that lasted from `begins` to `ends`: longer on a machine that has other work."""
        near = [one for one in self.samples if begins <= one.at <= ends + NEAR_S]
        if not near:
            return limit_s
        crowd = sum(one.runnable / (one.cores * TASKS_PER_CORE) for one in near) / len(near)
        return limit_s * max(1.0, crowd) + sum(one.late_s for one in near)


def read_load(history: RunHistory) -> MachineLoad:
    """The samples in a history."""
    events = history.of("machine", "load")
    return MachineLoad(samples=[LoadSample(at=event.at, **event.data) for event in events])


def describe_load(load: MachineLoad) -> str:
    """One sentence; empty without samples."""
    if not load.samples:
        return ""
    return (
        f"Machine: {load.samples[-1].cores} cores, {load.mean_runnable:.1f} tasks ready to run on average, "
        f"{load.most_runnable:.1f} in the busiest second."
    )
