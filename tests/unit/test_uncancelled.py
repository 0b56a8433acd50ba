"""A request that Daphne gives up still runs to its end, where its database connection is returned."""

import asyncio
import contextlib

from ops.project.uncancelled import uncancelled


async def test_a_call_that_is_cancelled_runs_to_its_end() -> None:
    may_end, has_ended = asyncio.Event(), asyncio.Event()

    async def slow(word: str) -> None:
        await may_end.wait()
        has_ended.set()

    call = asyncio.ensure_future(uncancelled(slow)("request"))
    await asyncio.sleep(0)
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call
    assert call.cancelled() and not has_ended.is_set()
    may_end.set()

    async with asyncio.timeout(5):
        await has_ended.wait()


async def test_a_call_that_fails_says_so() -> None:
    async def broken() -> None:
        raise LookupError

    with contextlib.suppress(LookupError):
        await uncancelled(broken)()
        raise AssertionError("it did not raise")
