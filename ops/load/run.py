"""Runs a load test: invites guests, runs the crowd, collects figures, removes the guests."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil

from ops.chat_client import guests
from ops.load import figures, invariants, stored, targets
from ops.load.cpu import CpuShares, measure_cpu
from ops.load.figures import LoadFigures
from ops.load.gauge import InFlightGauge
from ops.load.invariants import InvariantCheck
from ops.load.plan import LoadPlan
from ops.load.service import ServiceUnderLoad
from ops.load.targets import SpeedTarget
from ops.testbed.processes import load_average
from ops.testbed.rehearsal_provider import RehearsalProvider

ROOT = Path(__file__).resolve().parents[2]
TURN_MARGIN_S = 40.0
"""Time beyond its wait and its words after which a turn counts as having no end."""
REPORT_TIMEOUT_S = 30.0
"""Time the crowd has to report after the limit of the test."""


class LoadProgressDisplay(Protocol):
    """Shows the progress of the test."""

    def write(self, sentence: str) -> None: ...
    def set_invited(self, done: int) -> None: ...
    def set_counts(self, *, opened: int, ended: int, open_now: int, in_flight: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class LoadResult:
    """Everything one load test measured."""

    plan: LoadPlan
    service: ServiceUnderLoad
    figures: LoadFigures
    checks: list[InvariantCheck]
    targets: list[SpeedTarget]
    errors: dict[str, int]
    in_flight: list[tuple[float, int]]
    """(seconds since the start, answers in flight at the provider)."""
    memory: dict[str, int]
    """Bytes of each known web process: the highest sample."""
    cpu: CpuShares
    load_average: tuple[float, float]
    """Of the machine at the start and the end."""

    @property
    def passed(self) -> bool:
        """Whether every check held. Targets decide nothing."""
        return all(check.held for check in self.checks)


def run(
    plan: LoadPlan,
    service: ServiceUnderLoad,
    display: LoadProgressDisplay,
    *,
    kill_after_s: float | None = None,
) -> LoadResult:
    """Carry out a plan. The guests and their data are removed, however it ends."""
    average = load_average()
    if left := guests.remove_leftovers():
        display.write(f"The people of {left} interrupted load tests were removed.")
    with (
        _invite_guests(plan.sessions, display) as invited,
        RehearsalProvider(service.provider, tokens=service.tokens) as provider,
        InFlightGauge(provider) as gauge,
    ):
        since = stored.database_now()
        mark = f"load test {invited.site}"
        _set_pace(provider, plan, match=mark)
        memory = _MemoryPeak(service.pids)
        on_progress = _show_progress(display, gauge, memory)
        with measure_cpu(service.cpu) as cpu, _kill_one_process(service, kill_after_s):
            results = _run_crowd(plan, service, invited.session_keys, mark, on_progress)
        turns = stored.read_turns(site=invited.site, since=since)
        digests = stored.read_digests(
            invited.site, {turn["turn"]: turn["length"] for turn in results["turns"]}
        )
    reasons = {turn.turn: turn.reason for turn in turns}
    for turn in results["turns"]:
        turn["reason"] = reasons.get(turn["turn"], "")
    summary = figures.summarize(results, turns)
    processes = len(service.webs)
    return LoadResult(
        plan=plan,
        service=service,
        figures=summary,
        checks=invariants.check_invariants(
            results,
            turns,
            digests,
            ceiling=service.ceiling,
            peak=gauge.peak,
            sampled=len(gauge.samples),
            may_break=kill_after_s is not None,
        ),
        targets=list(
            targets.check_targets(
                plan, summary, processes=processes, peak=gauge.peak, failed=len(results["not_opened"])
            )
        ),
        errors=invariants.count_errors(results),
        in_flight=gauge.samples,
        memory=memory.bytes_by_pid,
        cpu=cpu.with_crowd(results["cpu_s"]),
        load_average=(average, load_average()),
    )


@contextmanager
def _invite_guests(count: int, display: LoadProgressDisplay) -> Iterator[guests.Guests]:
    invited = guests.invite(count, on_progress=display.set_invited)
    try:
        yield invited
    finally:
        guests.remove(invited)


def _set_pace(provider: RehearsalProvider, plan: LoadPlan, *, match: str) -> None:
    """Let the provider answer this test's questions, and no others, at its pace; each word is the moment it is sent."""
    if not plan.questions:
        return
    fault = {
        "stamp": True,
        "words": plan.words,
        "pace_ms": plan.pace_ms,
        "first_word_s": plan.first_word_ms / 1000,
    }
    provider.order_fault(fault, match=match)


def _run_crowd(
    plan: LoadPlan,
    service: ServiceUnderLoad,
    session_keys: Sequence[str],
    mark: str,
    on_progress: Callable[[Mapping[str, int]], None],
) -> dict[str, Any]:
    """Run the crowd in a process of its own. Returns its results."""
    speaking_s = (plan.first_word_ms + 1.5 * plan.words * plan.pace_ms) / 1000
    order = {
        "urls": service.socket_urls,
        "session_keys": list(session_keys),
        "turns": plan.turns,
        "ramp_s": plan.ramp_s,
        "think_s": plan.think_s,
        "stay_s": plan.stay_s,
        "mark": mark,
        "turn_timeout_s": service.wait_ceiling_s + speaking_s + TURN_MARGIN_S,
        "limit_s": plan.limit_s,
    }
    # A process of its own: its event loop must not wait for the database queries and the display of this one.
    with subprocess.Popen(
        [sys.executable, "-m", "ops.load.crowd"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as crowd:
        overdue = threading.Timer(plan.limit_s + REPORT_TIMEOUT_S, crowd.kill)
        overdue.start()
        try:
            assert crowd.stdin is not None and crowd.stdout is not None
            # By standard input: arguments can be read by every account, and these hold session keys.
            crowd.stdin.write(json.dumps(order) + "\n")
            crowd.stdin.close()
            for line in crowd.stdout:
                message = json.loads(line)
                if "results" in message:
                    results: dict[str, Any] = message["results"]
                    return results
                on_progress(message["progress"])
        # Also for Ctrl-C: `Popen` would wait for the crowd to end by itself.
        except BaseException:
            crowd.kill()
            raise
        finally:
            overdue.cancel()
    raise RuntimeError("the crowd ended without a report; its output is above")


def _show_progress(
    display: LoadProgressDisplay, gauge: InFlightGauge, memory: "_MemoryPeak"
) -> Callable[[Mapping[str, int]], None]:
    def show(counts: Mapping[str, int]) -> None:
        memory.sample()
        display.set_counts(in_flight=gauge.samples[-1][1] if gauge.samples else 0, **counts)

    return show


class _MemoryPeak:
    """The highest sampled memory of each web process, in bytes."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._processes = [psutil.Process(pid) for pid in pids]
        self.bytes_by_pid: dict[str, int] = {}
        self.sample()

    def sample(self) -> None:
        for process in self._processes:
            try:
                # Unique memory: shared pages would be counted once for each process.
                size = int(process.memory_full_info().uss)
            except psutil.NoSuchProcess:
                continue
            name = str(process.pid)
            self.bytes_by_pid[name] = max(self.bytes_by_pid.get(name, 0), size)


@contextmanager
def _kill_one_process(service: ServiceUnderLoad, after_s: float | None) -> Iterator[None]:
    """`kill -9` the last web process after `after_s` seconds; None: kill none."""
    if after_s is None:
        yield
        return
    victim = psutil.Process(service.pids[-1])
    timer = threading.Timer(after_s, victim.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
