"""`python -m ops.bench.crowd`: many simulated people in one process, so that their CPU is not counted to the service.

Reads one JSON object a line: first the plan, then one order for each round. Answers each with one line. Ends at the
end of its input.
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

from ops.bench.people import ChatPerson, DirectPerson, RelayPerson, SimulatedPerson
from ops.bench.upstream_clients import build_upstream_client

TIMEOUT_S = 60.0
"""For all connections together, and for each reply."""


def build_people(plan: Mapping[str, Any]) -> Sequence[SimulatedPerson]:
    """The people of a plan: `kind`, `url`, `people`, and the `session_keys` or the `client` of that kind."""
    count, url = plan["people"], plan["url"]
    match plan["kind"]:
        case "companion":
            return [ChatPerson(url, session_key) for session_key in plan["session_keys"]]
        case "relay":
            return [RelayPerson(url) for _ in range(count)]
        case _:
            stream = build_upstream_client(plan["client"], url)
            return [DirectPerson(stream) for _ in range(count)]


async def connect(people: Sequence[SimulatedPerson]) -> dict[str, Any]:
    """Connect all of them at once."""
    began = time.perf_counter()
    async with asyncio.timeout(TIMEOUT_S):
        await asyncio.gather(*(person.open() for person in people))
    return {"connected_s": time.perf_counter() - began}


async def ask(people: Sequence[SimulatedPerson], label: str, *, times: int) -> dict[str, Any]:
    """Let all of them ask at once, each a question of their own, and again when all have an answer."""
    began = time.process_time()
    replies: list[Any] = []
    for number in range(1, times + 1):
        outcomes = await asyncio.gather(
            *(
                asyncio.wait_for(
                    person.ask(f"{label}, question {number}, person {place}: how are you?"), TIMEOUT_S
                )
                for place, person in enumerate(people)
            ),
            return_exceptions=True,
        )
        replies += [asdict(reply) for reply in outcomes if not isinstance(reply, BaseException)]
        failures = Counter(type(reply).__name__ for reply in outcomes if isinstance(reply, BaseException))
        for kind, count in failures.items():
            print(f"{count} of {len(people)} got no reply: {kind}", file=sys.stderr, flush=True)
    return {"replies": replies, "client_cpu_s": time.process_time() - began}


async def main(read: Callable[[], str], write: Callable[[str], None]) -> None:
    """Carry out a plan and its orders, until there are no more lines."""
    people = build_people(json.loads(await asyncio.to_thread(read)))
    write(json.dumps(await connect(people)))
    # A garbage collection during a round would be measured as delay.
    gc.collect()
    gc.freeze()
    gc.disable()
    while line := await asyncio.to_thread(read):
        order = json.loads(line)
        asking = [people[place] for place in order["places"]]
        write(json.dumps(await ask(asking, order["ask"], times=order["times"])))
        gc.collect()
    await asyncio.gather(*(person.close() for person in people))
    await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(sys.stdin.readline, lambda line: print(line, flush=True)))
