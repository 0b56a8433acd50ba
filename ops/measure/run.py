"""Measures how long a selection takes: from its row to the first request at the head of its chain."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import httpx
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from ops.chat_client.errors import ChatFailed
from ops.chat_client.guests import Guests, invite, remove
from ops.measure.probes import ProbePage, open_probes
from ops.selections import rows
from ops.selections.board import read_board
from ops.selections.selector import SelectionRefused, SelectionRequest, Selector
from ops.testbed.rehearsal_provider import NotRehearsalProvider, RehearsalProvider, provider_addresses
from ops.testbed.running_service import NoRunningService, token_folder, web_addresses
from routing.lanes import NORMAL, Routing
from routing.selection import Selection

SELECTION_LASTS = timedelta(minutes=5)
"""The measured selection ends after this time even if the command is killed."""
MAX_DELAY_S = 10.0
"""The service promises to follow a selection within this time."""
LIMIT_S = 12.0
PAGES_PER_PROCESS = 4
FAST_INTERVAL_S, FAST_PHASE_S, SLOW_INTERVAL_S = 0.025, 2.0, 0.25
"""Time between questions: short at first, for precision; then long enough for the rate limit of one person."""
POLL_INTERVAL_S = 0.1
UNREACHABLE = (aiohttp.ClientError, httpx.HTTPError, TimeoutError, ChatFailed)


class MeasurementInterrupted(Exception):
    """The service or its provider stopped answering after the selection, which may still be in force."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionDelay:
    """One selection. Seconds from its row to the first request that a provider received for its head."""

    lane: str
    version: int
    first_s: float | None
    """Over all web processes; None: no request in time."""
    each_s: tuple[float | None, ...]
    """For each web process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundTrip:
    """The selection of a preset, and the way back to normal."""

    there: SelectionDelay
    back: SelectionDelay

    @property
    def is_in_time(self) -> bool:
        """Whether every process followed both selections within ten seconds."""
        delays = (*self.there.each_s, *self.back.each_s)
        return all(delay_s is not None and delay_s < MAX_DELAY_S for delay_s in delays)

    def to_document(self) -> dict[str, Any]:
        """As JSON values."""
        return {"there": asdict(self.there), "back": asdict(self.back), "in_time": self.is_in_time}

    def format_text(self) -> str:
        """Two lines of text."""
        return f"{_format_delay('There', self.there)}\n{_format_delay('Back', self.back)}"


def measure(routing: Routing, selector: Selector, request: SelectionRequest, *, state_dir: Path) -> RoundTrip:
    """Select a preset and go back to normal, and time both.

    Raises SelectionRefused before the first change, MeasurementInterrupted after it.
    """
    selector.check(request)
    try:
        providers = provider_addresses(routing)
        services = web_addresses(state_dir, mend="Start it, or name its folder with COMPANION_STATE_DIR.")
    except (NoRunningService, NotRehearsalProvider) as refusal:
        raise SelectionRefused(str(refusal)) from None
    if rows.read_newest().preset != NORMAL:
        raise SelectionRefused("Another preset than normal is in force. Measure when it is no longer needed.")
    if read_board(routing).unrecorded:
        raise SelectionRefused(
            "A web process serves a version that is in no row; probably the database was restored. "
            "Go back to normal first."
        )
    there, back = routing.presets[request.preset].chain[0], routing.presets[NORMAL].chain[0]
    if routing.lanes[there].model == routing.lanes[back].model:
        raise SelectionRefused(f"The first lane of {request.preset} cannot be told from that of {NORMAL}.")
    guests = invite(PAGES_PER_PROCESS * len(services))
    try:
        tokens = token_folder(state_dir)
        return asyncio.run(
            _measure(routing, selector, request, providers, services, guests.session_keys, tokens=tokens)
        )
    finally:
        _remove_guests(guests)


async def _measure(
    routing: Routing,
    selector: Selector,
    request: SelectionRequest,
    providers: Sequence[str],
    services: Sequence[str],
    session_keys: Sequence[str],
    *,
    tokens: Path,
) -> RoundTrip:
    async with AsyncExitStack() as stack:
        operated = [stack.enter_context(RehearsalProvider(one, tokens=tokens)) for one in providers]
        try:
            for rehearsal in operated:
                await asyncio.to_thread(rehearsal.prove)
            pages = await stack.enter_async_context(open_probes(services, session_keys))
        except NotRehearsalProvider as refusal:
            raise SelectionRefused(str(refusal)) from None
        except UNREACHABLE:
            raise SelectionRefused(
                "A web process does not open the chat. See what scripts/up says, and measure again."
            ) from None
        stopwatch = _Stopwatch(routing, pages, operated)
        select = sync_to_async(selector.select)
        revert = sync_to_async(selector.revert)
        try:
            there = await stopwatch.time(request.preset, lambda: select(request))
        except UNREACHABLE:
            raise MeasurementInterrupted from None
        finally:
            # Go back to normal however the measurement ended.
            back = await _translate_unreachable(
                stopwatch.time(NORMAL, lambda: revert(by=request.by, reason=f"Measured {request.preset}."))
            )
            await _wait_until_idle(pages)
        return RoundTrip(there=there, back=back)


async def _translate_unreachable(timing: Awaitable[SelectionDelay]) -> SelectionDelay:
    try:
        return await timing
    except UNREACHABLE:
        raise MeasurementInterrupted from None


async def _wait_until_idle(pages: Sequence[ProbePage]) -> None:
    """Wait until every reply has ended: a turn goes on without its page, and its rows could not be removed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LIMIT_S):
            await asyncio.gather(*(page.idle.wait() for page in pages))


def _remove_guests(guests: Guests) -> None:
    for pause_s in (0.5, 1.0, 2.0):
        try:
            return remove(guests)
        except DatabaseError:
            # A web process was writing a row of one of them.
            time.sleep(pause_s)
    remove(guests)


class _Stopwatch:
    def __init__(
        self, routing: Routing, pages: Sequence[ProbePage], providers: Sequence[RehearsalProvider]
    ) -> None:
        self._routing = routing
        self._pages = pages
        self._providers = providers
        self._places = 1 + max(page.place for page in pages)

    async def time(self, preset: str, change: Callable[[], Awaitable[Selection]]) -> SelectionDelay:
        """Make the change while the pages ask. Returns when every process has called the new head, or after LIMIT_S."""
        asking = asyncio.create_task(self._ask_continually())
        try:
            chosen = await change()
            lane = self._routing.presets[preset].chain[0]
            delay = SelectionDelay(lane=lane, version=chosen.version, first_s=None, each_s=())
            async with asyncio.timeout(LIMIT_S):
                while None in delay.each_s or not delay.each_s:
                    await asyncio.sleep(POLL_INTERVAL_S)
                    delay = await self._read_delay(delay, since=chosen.at.timestamp())
        except TimeoutError:
            pass
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return delay

    async def _ask_continually(self) -> None:
        began = asyncio.get_running_loop().time()
        while True:
            for page in self._pages:
                if page.idle.is_set():
                    await page.ask()
                elapsed_s = asyncio.get_running_loop().time() - began
                await asyncio.sleep(FAST_INTERVAL_S if elapsed_s < FAST_PHASE_S else SLOW_INTERVAL_S)

    async def _read_delay(self, delay: SelectionDelay, *, since: float) -> SelectionDelay:
        model = self._routing.lanes[delay.lane].model
        requests = [
            request
            for provider in self._providers
            for request in await asyncio.to_thread(provider.read_requests)
            if request["at"] >= since
        ]
        place_of = {f"turn-{turn}": page.place for page in self._pages for turn in page.turns}
        first: dict[int, float] = {}
        for request in sorted(requests, key=lambda request: request["at"]):
            place = place_of.get(request["request_id"])
            if place is None:
                continue
            if request["model"] == model:
                first.setdefault(place, round(request["at"] - since, 3))
        each = tuple(first.get(place) for place in range(self._places))
        return replace(delay, first_s=min(first.values(), default=None), each_s=each)


def _format_delay(name: str, delay: SelectionDelay) -> str:
    if delay.first_s is None:
        return f"{name}: no request reached {delay.lane} within {LIMIT_S:.0f} s (version {delay.version})."
    each = ", ".join(
        "not in time" if delay_s is None else f"{delay_s * 1000:.0f} ms" for delay_s in delay.each_s
    )
    return (
        f"{name}: first request at {delay.lane} after {delay.first_s * 1000:.0f} ms "
        f"(version {delay.version}; by process: {each})"
    )
