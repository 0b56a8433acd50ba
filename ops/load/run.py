"""One load test from its first guest to its last figure."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import psutil

from ops.load import figures, judge, people, stored, targets
from ops.load.figures import Figures
from ops.load.gauge import Gauge
from ops.load.judge import Check
from ops.load.plan import Plan
from ops.load.service import Service
from ops.load.targets import Target
from routing.rehearsal.doors import operator_headers

ROOT = Path(__file__).resolve().parents[2]
SPARE_S = 40.0
"""What a turn may take beyond its wait and its words before it counts as without an end."""
LAST_WORD_S = 30.0
"""How long the crowd has for its report once its time is over."""


class Watcher(Protocol):
    """Whoever watches the test as it goes."""

    def say(self, sentence: str) -> None: ...
    def invited(self, done: int) -> None: ...
    def moved(self, *, opened: int, ended: int, open_now: int, in_flight: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Everything one load test found."""

    plan: Plan
    service: Service
    figures: Figures
    checks: list[Check]
    targets: list[Target]
    errors: dict[str, int]
    in_flight: list[tuple[float, int]]
    """(seconds since the start, answers that run at the provider)."""
    memory: dict[str, int]
    """Bytes of each web process that is known, at the fullest moment that was looked at."""

    @property
    def passed(self) -> bool:
        """Whether every check held. Targets are told, and decide nothing."""
        return all(check.held for check in self.checks)


def run(plan: Plan, service: Service, watcher: Watcher, *, kill_after_s: float | None = None) -> Outcome:
    """Carry out a plan. The guests leave nothing behind, however it ends."""
    if left := people.clear_leftovers():
        watcher.say(f"The people of {left} broken-off load tests have been taken away.")
    with _guests(plan.sessions, watcher) as guests, Gauge(service.provider, tokens=service.tokens) as gauge:
        since = stored.now()
        mark = f"load test {guests.site}"
        _speak_as(service, plan, match=mark)
        memory = _Memory(service.pids)
        with _killing(service, kill_after_s):
            told = _let_in(plan, service, guests.cookies, mark, _moves(watcher, gauge, memory))
        kept = stored.turns(site=guests.site, since=since)
        digests = stored.digests(guests.site, {one["turn"]: one["length"] for one in told["turns"]})
    reasons = {one.turn: one.reason for one in kept}
    for turn in told["turns"]:
        turn["reason"] = reasons.get(turn["turn"], "")
    found = figures.of(told, kept)
    processes = len(service.webs)
    return Outcome(
        plan=plan,
        service=service,
        figures=found,
        checks=judge.checks(
            told,
            kept,
            digests,
            ceiling=service.ceiling,
            peak=gauge.peak,
            sampled=len(gauge.samples),
            may_break=kill_after_s is not None,
        ),
        targets=list(
            targets.targets(plan, found, processes=processes, peak=gauge.peak, failed=len(told["not_opened"]))
        ),
        errors=judge.errors_by_kind(told),
        in_flight=gauge.samples,
        memory=memory.fullest,
    )


@contextmanager
def _guests(count: int, watcher: Watcher) -> Iterator[people.Guests]:
    guests = people.invite(count, came=watcher.invited)
    try:
        yield guests
    finally:
        people.see_off(guests)


def _speak_as(service: Service, plan: Plan, *, match: str) -> None:
    """Our questions, and no others, are answered at this plan's pace; each word is the moment it was sent."""
    if not plan.asked:
        return
    fault = {
        "stamp": True,
        "words": plan.words,
        "pace_ms": plan.pace_ms,
        "first_word_s": plan.first_word_ms / 1000,
    }
    order = {"next": None, "match": match, "fault": fault}
    headers = operator_headers(service.tokens, service.provider)
    url = f"{service.provider}/control"
    httpx.post(url, json=order, headers=headers, trust_env=False, timeout=30).raise_for_status()


def _let_in(
    plan: Plan,
    service: Service,
    cookies: Any,
    mark: str,
    moved: Callable[[Mapping[str, int]], None],
) -> dict[str, Any]:
    """Run the crowd in a process of its own; returns what it heard."""
    speaking_s = (plan.first_word_ms + 1.5 * plan.words * plan.pace_ms) / 1000
    order = {
        "addresses": service.sockets,
        "cookies": list(cookies),
        "turns": plan.turns,
        "ramp_s": plan.ramp_s,
        "think_s": plan.think_s,
        "stay_s": plan.stay_s,
        "mark": mark,
        "turn_within_s": service.wait_ceiling_s + speaking_s + SPARE_S,
        "limit_s": plan.limit_s,
    }
    with subprocess.Popen(
        [sys.executable, "-m", "ops.load.crowd"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as crowd:
        overdue = threading.Timer(plan.limit_s + LAST_WORD_S, crowd.kill)
        overdue.start()
        try:
            assert crowd.stdin is not None and crowd.stdout is not None
            crowd.stdin.write(json.dumps(order) + "\n")
            crowd.stdin.close()
            for line in crowd.stdout:
                word = json.loads(line)
                if "told" in word:
                    told: dict[str, Any] = word["told"]
                    return told
                moved(word["so_far"])
        except BaseException:
            crowd.kill()
            raise
        finally:
            overdue.cancel()
    raise RuntimeError("the crowd left without a report; its own words stand above")


def _moves(watcher: Watcher, gauge: Gauge, memory: "_Memory") -> Callable[[Mapping[str, int]], None]:
    def moved(so_far: Mapping[str, int]) -> None:
        memory.look()
        watcher.moved(in_flight=gauge.samples[-1][1] if gauge.samples else 0, **so_far)

    return moved


class _Memory:
    """What the web processes hold, at the fullest of the moments it was looked at."""

    def __init__(self, pids: Any) -> None:
        self._processes = [psutil.Process(pid) for pid in pids]
        self.fullest: dict[str, int] = {}
        self.look()

    def look(self) -> None:
        for process in self._processes:
            try:
                held = int(process.memory_full_info().uss)
            except psutil.NoSuchProcess:
                continue
            name = str(process.pid)
            self.fullest[name] = max(self.fullest.get(name, 0), held)


@contextmanager
def _killing(service: Service, after_s: float | None) -> Iterator[None]:
    """`kill -9` of the last web process after so many seconds."""
    if after_s is None:
        yield
        return
    doomed = psutil.Process(service.pids[-1])
    timer = threading.Timer(after_s, doomed.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
