"""Measures, once a second, how busy the machine is: the judge gives a busy machine more time."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ops.ordeal.arena.recorder import Recorder
from ops.ordeal.machine_load import LoadSample, MachineLoad

LOOKS_PER_SAMPLE = 10
LOOK_EVERY_S = 0.1
LOADAVG = Path("/proc/loadavg")


@asynccontextmanager
async def sample_load(recorder: Recorder) -> AsyncIterator[MachineLoad]:
    """Record samples while this is entered. They are also added to the load that is returned."""
    load = MachineLoad()
    task = asyncio.create_task(_sample(recorder, load))
    try:
        yield load
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _sample(recorder: Recorder, load: MachineLoad) -> None:
    loop = asyncio.get_running_loop()
    cores = len(os.sched_getaffinity(0))
    while True:
        runnable, late_s = 0, 0.0
        for _ in range(LOOKS_PER_SAMPLE):
            due = loop.time() + LOOK_EVERY_S
            await asyncio.sleep(LOOK_EVERY_S)
            late_s += max(0.0, loop.time() - due)
            runnable += count_runnable()
        sample = LoadSample(
            at=recorder.now(),
            runnable=round(runnable / LOOKS_PER_SAMPLE, 1),
            cores=cores,
            late_s=round(late_s, 3),
        )
        load.samples.append(sample)
        facts = {"runnable": sample.runnable, "cores": sample.cores, "late_s": sample.late_s}
        recorder.write("machine", "load", at=sample.at, **facts)


def count_runnable() -> int:
    """Tasks of the machine that are ready to run, this one not counted; 0 where the kernel does not tell."""
    try:
        running = LOADAVG.read_text().split()[3].partition("/")[0]
        return max(0, int(running) - 1)
    except (OSError, IndexError, ValueError):
        return 0
