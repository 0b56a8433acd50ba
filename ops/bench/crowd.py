"""`python -m ops.bench.crowd`: many people in a process of their own, so that their cost is not the service's.

Reads one JSON object a line: first who they are, then what they all ask at once. Answers each with one line.
It ends when its input does.
"""

import asyncio
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ops.bench.clients import way
from ops.bench.speakers import Caller, Participant, Speaker, Visitor

WITHIN_S = 60.0
"""No answer, and no connection, is waited for longer."""


def gather(plan: Mapping[str, Any]) -> Sequence[Speaker]:
    """The people of a plan: `kind`, `url`, `people`, and the `cookies` or the `client` that kind needs."""
    count, url = plan["people"], plan["url"]
    match plan["kind"]:
        case "companion":
            return [Participant(url, cookie) for cookie in plan["cookies"]]
        case "relay":
            return [Visitor(url) for _ in range(count)]
        case _:
            by_one_client = way(plan["client"], url)
            return [Caller(by_one_client) for _ in range(count)]


async def connect(people: Sequence[Speaker]) -> dict[str, Any]:
    """All of them connect at once."""
    began = time.perf_counter()
    async with asyncio.timeout(WITHIN_S):
        await asyncio.gather(*(person.open() for person in people))
    return {"connected_s": time.perf_counter() - began}


async def ask(people: Sequence[Speaker], label: str, *, times: int) -> dict[str, Any]:
    """All of them ask at once, each something of their own, and again when all have been answered."""
    began = time.process_time()
    answers: list[Any] = []
    for number in range(1, times + 1):
        heard = await asyncio.gather(
            *(
                asyncio.wait_for(
                    person.ask(f"{label}, question {number}, person {place}: how are you?"), WITHIN_S
                )
                for place, person in enumerate(people)
            ),
            return_exceptions=True,
        )
        answers += [asdict(one) for one in heard if not isinstance(one, BaseException)]
        for kind, count in Counter(
            type(one).__name__ for one in heard if isinstance(one, BaseException)
        ).items():
            print(f"{count} of {len(people)} heard nothing: {kind}", file=sys.stderr, flush=True)
    return {"heard": answers, "client_cpu_s": time.process_time() - began}


async def main(read: Callable[[], str], write: Callable[[str], None]) -> None:
    """Carry out a plan until there are no more lines."""
    people = gather(json.loads(await asyncio.to_thread(read)))
    write(json.dumps(await connect(people)))
    # A collection in the midst of a round would be measured as somebody's delay.
    gc.collect()
    gc.freeze()
    gc.disable()
    while line := await asyncio.to_thread(read):
        asked = json.loads(line)
        asking = [people[place] for place in asked["who"]]
        write(json.dumps(await ask(asking, asked["ask"], times=asked["times"])))
        gc.collect()
    await asyncio.gather(*(person.close() for person in people))
    await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(sys.stdin.readline, lambda line: print(line, flush=True)))
