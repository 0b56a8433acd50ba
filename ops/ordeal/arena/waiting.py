"""Waits for events, with patience."""

import asyncio


async def wait_for_any(*events: asyncio.Event, within_s: float | None = None) -> bool:
    """Wait until one of the events is set. False: none was, within this time."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(waits, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return bool(done)


async def wait_for_all(*events: asyncio.Event, unless: asyncio.Event, within_s: float) -> None:
    """Wait until all the events are set, or until `unless` is, at most so long."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    for event in events:
        await wait_for_any(event, unless, within_s=max(0.0, deadline - loop.time()))
