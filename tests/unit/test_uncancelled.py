"""A request that Daphne gives up still runs to its end, where its database connection is returned."""

import asyncio
import contextlib

from ops.project.uncancelled import UncancelledRequests


async def test_a_call_that_is_cancelled_runs_to_its_end() -> None:
    may_end, has_ended = asyncio.Event(), asyncio.Event()

    async def slow(word: str) -> None:
        await may_end.wait()
        has_ended.set()

    call = asyncio.ensure_future(UncancelledRequests(slow)("request"))
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
        await UncancelledRequests(broken)()
        raise AssertionError("it did not raise")


async def test_the_end_waits_for_requests_under_way_and_not_for_ever() -> None:
    may_end = asyncio.Event()

    async def slow() -> None:
        await may_end.wait()

    requests = UncancelledRequests(slow)
    call = asyncio.ensure_future(requests())
    await asyncio.sleep(0)
    await requests.finish(within_s=0.05)
    assert len(requests) == 1

    finishing = asyncio.ensure_future(requests.finish(within_s=60))
    await asyncio.sleep(0)
    may_end.set()
    async with asyncio.timeout(5):
        await finishing
    assert len(requests) == 0
    await call
