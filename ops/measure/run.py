"""How long a change takes: selects a preset on a running service, and looks for the first request at its new head."""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from ops.load.people import Guests, invite, see_off
from ops.measure.askers import Asker, askers
from ops.outage.errors import CannotPlay
from ops.outage.provider import RehearsalProvider, addresses
from ops.selections import selecting
from ops.selections.board import board
from ops.selections.selecting import Choice, SelectionRefused, Selector
from routing.lanes import NORMAL, Routing
from routing.selection import Selection

LASTS = timedelta(minutes=5)
"""Of the selection that is measured, should nothing be left to take it back."""
IN_TIME_S = 10.0
LIMIT_S = 12.0
AT_EACH_PROCESS = 4
OFTEN_S, OFTEN_FOR_S, SELDOM_S = 0.025, 2.0, 0.25
"""How often questions are asked: at first often, to see the very moment; then within what one person may ask."""
LOOK_EVERY_S = 0.1
# A frame that is no text is a TypeError of aiohttp's: the other side closed instead of saying hello.
AWAY = (aiohttp.ClientError, TimeoutError, TypeError)


class Interrupted(Exception):
    """The service or its provider stopped answering after the first change. What was selected may still be in force."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One change. Seconds from the row to the first request that a provider received for the new head."""

    lane: str
    version: int
    first_s: float | None
    """Over all web processes; None: none came in time."""
    each_s: tuple[float | None, ...]
    """For each web process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """There and back."""

    there: Way
    back: Way

    @property
    def is_in_time(self) -> bool:
        """Under ten seconds, in every process."""
        return all(one is not None and one < IN_TIME_S for one in (*self.there.each_s, *self.back.each_s))

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {"there": asdict(self.there), "back": asdict(self.back), "in_time": self.is_in_time}

    def text(self) -> str:
        """For a person."""
        return f"{_told('There', self.there)}\n{_told('Back', self.back)}"


def measure(routing: Routing, selector: Selector, choice: Choice, *, state_dir: Path) -> Measured:
    """Select, time it, go back, time it. Raises SelectionRefused before the first change, Interrupted after."""
    selector.check(choice)
    try:
        providers = addresses(routing)
        ports = _ports(state_dir)
    except CannotPlay as refusal:
        raise SelectionRefused(str(refusal)) from None
    if selecting.newest().preset != NORMAL:
        raise SelectionRefused(
            "Something other than normal is in force. Measure when nobody needs it any more."
        )
    if board(routing).unrecorded:
        raise SelectionRefused(
            "A web process serves a version that stands in no row: the database was restored, it seems. "
            "Go back to normal first."
        )
    there, back = routing.presets[choice.preset].chain[0], routing.presets[NORMAL].chain[0]
    if routing.lanes[there].model == routing.lanes[back].model:
        raise SelectionRefused(f"The first lane of {choice.preset} cannot be told from that of {NORMAL}.")
    guests = invite(AT_EACH_PROCESS * len(ports), came=lambda count: None)
    try:
        measuring = _measure(
            routing, selector, choice, providers, ports, guests.cookies, tokens=state_dir / "run"
        )
        return asyncio.run(measuring)
    finally:
        _see_off(guests)


async def _measure(
    routing: Routing,
    selector: Selector,
    choice: Choice,
    providers: Sequence[str],
    ports: Sequence[int],
    cookies: Sequence[str],
    *,
    tokens: Path,
) -> Measured:
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(aiohttp.ClientSession())
        doors = [RehearsalProvider(operator, provider, tokens=tokens) for provider in providers]
        try:
            for door in doors:
                await door.prove()
            pages = await stack.enter_async_context(askers(ports, cookies))
        except CannotPlay as refusal:
            raise SelectionRefused(str(refusal)) from None
        except AWAY:
            raise SelectionRefused(
                "A web process does not let people in. See what scripts/up says, and measure again."
            ) from None
        stopwatch = _Stopwatch(routing, pages, doors)
        goes_there = sync_to_async(selector.select)
        goes_back = sync_to_async(selector.revert)
        try:
            there = await stopwatch.time(choice.preset, lambda: goes_there(choice))
        except AWAY:
            raise Interrupted from None
        finally:
            # However it ended: nobody is left with a preset that was selected to be measured.
            back = await _even_if_away(
                stopwatch.time(NORMAL, lambda: goes_back(by=choice.by, reason=f"Measured {choice.preset}."))
            )
            await _ended(pages)
        return Measured(there=there, back=back)


async def _even_if_away(timing: Awaitable[Way]) -> Way:
    try:
        return await timing
    except AWAY:
        raise Interrupted from None


async def _ended(pages: Sequence[Asker]) -> None:
    """Wait until every reply has ended: a turn goes on without its page, and would be missed by whoever tidies up."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LIMIT_S):
            await asyncio.gather(*(page.idle.wait() for page in pages))


def _see_off(guests: Guests) -> None:
    for rest_s in (0.5, 1.0, 2.0):
        try:
            return see_off(guests)
        except DatabaseError:
            # A web process wrote about one of them in this very moment.
            time.sleep(rest_s)
    see_off(guests)


class _Stopwatch:
    def __init__(
        self, routing: Routing, pages: Sequence[Asker], providers: Sequence[RehearsalProvider]
    ) -> None:
        self._routing = routing
        self._pages = pages
        self._providers = providers
        self._places = 1 + max(page.place for page in pages)

    async def time(self, preset: str, change: Callable[[], Awaitable[Selection]]) -> Way:
        """Make the change while questions are asked, until every process has asked the new head, or too long."""
        asking = asyncio.create_task(self._ask())
        try:
            chosen = await change()
            lane = self._routing.presets[preset].chain[0]
            way = Way(lane=lane, version=chosen.version, first_s=None, each_s=())
            async with asyncio.timeout(LIMIT_S):
                while None in way.each_s or not way.each_s:
                    await asyncio.sleep(LOOK_EVERY_S)
                    way = await self._look(way, since=chosen.at.timestamp())
        except TimeoutError:
            pass
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return way

    async def _ask(self) -> None:
        began = asyncio.get_running_loop().time()
        while True:
            for page in self._pages:
                if page.idle.is_set():
                    await page.ask()
                passed = asyncio.get_running_loop().time() - began
                await asyncio.sleep(OFTEN_S if passed < OFTEN_FOR_S else SELDOM_S)

    async def _look(self, way: Way, *, since: float) -> Way:
        model = self._routing.lanes[way.lane].model
        asked = [
            one for provider in self._providers for one in await provider.requests() if one["at"] >= since
        ]
        place_of = {f"turn-{turn}": page.place for page in self._pages for turn in page.turns}
        first: dict[int, float] = {}
        for one in sorted(asked, key=lambda one: one["at"]):
            place = place_of.get(one["request_id"])
            if place is None:
                continue
            if one["model"] == model:
                first.setdefault(place, round(one["at"] - since, 3))
        each = tuple(first.get(place) for place in range(self._places))
        return replace(way, first_s=min(first.values(), default=None), each_s=each)


def _told(name: str, way: Way) -> str:
    if way.first_s is None:
        return f"{name}: no request reached {way.lane} within {LIMIT_S:.0f} s (version {way.version})."
    each = ", ".join("not in time" if one is None else f"{one * 1000:.0f} ms" for one in way.each_s)
    return (
        f"{name}: first request at {way.lane} after {way.first_s * 1000:.0f} ms "
        f"(version {way.version}; by process: {each})"
    )


def _ports(state_dir: Path) -> list[int]:
    try:
        return [
            int(port) for port in json.loads((state_dir / "run" / "environment.json").read_text())["ports"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        raise CannotPlay(
            f"No scripts/up runs from {state_dir}. Start it, or name its folder with COMPANION_STATE_DIR."
        ) from None
