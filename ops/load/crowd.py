"""`python -m ops.load.crowd`: many participants in a process of their own, so that their cost is not the service's.

Reads one JSON line, the plan. Writes one line each time something has moved, and a last one with everything heard.
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

from ops.bench.figures import percentile
from ops.load.person import Heard, NoSession, Person

TELL_EVERY_S = 0.25


class Crowd:
    """Everybody in one plan, and what has come of them so far."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._plan = plan
        self.opened: list[float] = []
        self.not_opened: list[str] = []
        self.heard: list[Heard] = []
        self.lost = 0
        self.open_now = 0
        self.open_at_once = 0

    async def run(self) -> None:
        """Everybody comes, asks, stays and leaves."""
        people = self._plan["cookies"]
        between_s = self._plan["ramp_s"] / len(people)
        async with asyncio.TaskGroup() as group:
            for number, cookie in enumerate(people):
                group.create_task(self._live(number, cookie, after_s=number * between_s))

    async def _live(self, number: int, cookie: str, *, after_s: float) -> None:
        await asyncio.sleep(after_s)
        addresses = self._plan["addresses"]
        mine = number % len(addresses)
        person = Person([*addresses[mine:], *addresses[:mine]], cookie)
        try:
            self.opened.append(await person.come())
        except NoSession as refusal:
            self.not_opened.append(str(refusal))
            await person.leave()
            return
        self.open_now += 1
        self.open_at_once = max(self.open_at_once, self.open_now)
        for turn in range(1, self._plan["turns"] + 1):
            question = f"{self._plan['mark']}, person {number}, question {turn}: how are you?"
            self.heard.append(await person.ask(question, within_s=self._plan["turn_within_s"]))
            await asyncio.sleep(self._plan["think_s"])
        await asyncio.sleep(self._plan["stay_s"])
        await person.leave()
        self.lost += person.lost
        self.open_now -= 1

    def so_far(self) -> dict[str, Any]:
        """For a progress bar."""
        return {
            "opened": len(self.opened) + len(self.not_opened),
            "ended": len(self.heard),
            "open_now": self.open_now,
        }

    def told(self) -> dict[str, Any]:
        """Everything heard, without a word of it."""
        return {
            "opened_s": self.opened,
            "not_opened": self.not_opened,
            "open_at_once": self.open_at_once,
            "lost": self.lost,
            "turns": [heard.told() for heard in self.heard],
            "gaps_ms": _spread([heard.arrivals for heard in self.heard]),
            "sent_gaps_ms": _spread([heard.sent for heard in self.heard]),
        }


def _spread(moments: Sequence[Sequence[float]]) -> dict[str, float]:
    """How far apart words are, in milliseconds, over all replies."""
    gaps = [(later - earlier) * 1000 for reply in moments for earlier, later in itertools.pairwise(reply)]
    return {f"p{int(part * 100)}": percentile(gaps, part) for part in (0.5, 0.95, 0.99)}


async def main(plan: Mapping[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
    """Carry out a plan."""
    crowd = Crowd(plan)
    # A collection in the midst of it would be measured as somebody's wait.
    gc.collect()
    gc.freeze()
    gc.disable()
    living = asyncio.create_task(crowd.run())
    ends_at = time.monotonic() + plan["limit_s"]
    while not living.done() and time.monotonic() < ends_at:
        await asyncio.wait([living], timeout=TELL_EVERY_S)
        write({"so_far": crowd.so_far()})
    overdue = not living.done()
    living.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await living
    write({"told": crowd.told() | {"overdue": overdue}})


def make_room_for_sockets() -> None:
    """As many open files as this account may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    make_room_for_sockets()
    asyncio.run(main(json.loads(sys.stdin.readline()), lambda line: print(json.dumps(line), flush=True)))
