"""`python -m ops.load.crowd`: many participants in a process of its own, so that their CPU is not the service's.

Reads one JSON line, the plan. Writes a line of progress four times a second, and a last line with all results.
"""

import asyncio
import contextlib
import gc
import itertools
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ops.load.page import LoadPage, MeasuredTurn, NoSession
from ops.testbed.percentiles import percentile

PROGRESS_EVERY_S = 0.25


class LoadCrowd:
    """The pages of one plan, and their results so far."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._plan = plan
        self._opened: list[float] = []
        self._not_opened: list[str] = []
        self._turns: list[MeasuredTurn] = []
        self._lost = 0
        self._open_now = 0
        self._open_at_once = 0

    async def run(self) -> None:
        """Open every page, ask its questions, keep it open, and close it."""
        session_keys = self._plan["session_keys"]
        interval_s = self._plan["ramp_s"] / len(session_keys)
        async with asyncio.TaskGroup() as group:
            for number, session_key in enumerate(session_keys):
                group.create_task(self._run_page(number, session_key, delay_s=number * interval_s))

    async def _run_page(self, number: int, session_key: str, *, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        urls = self._plan["urls"]
        first = number % len(urls)
        page = LoadPage([*urls[first:], *urls[:first]], session_key)
        try:
            self._opened.append(await page.open())
        except NoSession as refusal:
            self._not_opened.append(str(refusal))
            await page.leave()
            return
        self._open_now += 1
        self._open_at_once = max(self._open_at_once, self._open_now)
        for turn in range(1, self._plan["turns"] + 1):
            question = f"{self._plan['mark']}, person {number}, question {turn}: how are you?"
            self._turns.append(await page.ask(question, timeout_s=self._plan["turn_timeout_s"]))
            await asyncio.sleep(self._plan["think_s"])
        await asyncio.sleep(self._plan["stay_s"])
        await page.leave()
        self._lost += page.lost
        self._open_now -= 1

    def progress(self) -> dict[str, int]:
        """Counts for a progress bar."""
        return {
            "opened": len(self._opened) + len(self._not_opened),
            "ended": len(self._turns),
            "open_now": self._open_now,
        }

    def results(self) -> dict[str, Any]:
        """All results, without any text."""
        return {
            "opened_s": self._opened,
            "not_opened": self._not_opened,
            "open_at_once": self._open_at_once,
            "lost": self._lost,
            "turns": [turn.to_document() for turn in self._turns],
            "gaps_ms": _gap_percentiles([turn.arrivals for turn in self._turns]),
            "sent_gaps_ms": _gap_percentiles([turn.sent for turn in self._turns]),
            "cpu_s": time.process_time(),
        }


def _gap_percentiles(replies: Sequence[Sequence[float]]) -> dict[str, float]:
    """Percentiles of the time between two words, in milliseconds, over all replies."""
    gaps = [(later - earlier) * 1000 for moments in replies for earlier, later in itertools.pairwise(moments)]
    return {f"p{int(part * 100)}": percentile(gaps, part) for part in (0.5, 0.95, 0.99)}


async def main(plan: Mapping[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    """Carry out a plan."""
    crowd = LoadCrowd(plan)
    # A garbage collection during the run would be measured as waiting time.
    gc.collect()
    gc.freeze()
    gc.disable()
    running = asyncio.create_task(crowd.run())
    ends_at = time.monotonic() + plan["limit_s"]
    while not running.done() and time.monotonic() < ends_at:
        await asyncio.wait([running], timeout=PROGRESS_EVERY_S)
        write({"progress": crowd.progress()})
    overdue = not running.done()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    write({"results": crowd.results() | {"overdue": overdue}})


def raise_file_limit() -> None:
    """Allow as many open files as this account may have."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


if __name__ == "__main__":
    raise_file_limit()
    asyncio.run(main(json.loads(sys.stdin.readline()), lambda line: print(json.dumps(line), flush=True)))
