"""Carries out the planned faults of a run, and takes each of them back."""

import asyncio
import contextlib
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import django.db
import httpx
import psycopg

from ops.changes import ChangeRefused
from ops.ordeal.arena import cast
from ops.ordeal.arena.cast import Cast, in_database
from ops.ordeal.arena.programs import in_thread
from ops.ordeal.arena.recorder import Recorder
from ops.ordeal.arena.service import RunService
from ops.ordeal.arena.tcp_proxy import GOOD, NetworkFault, TcpProxy
from ops.ordeal.plan.steps import OrdealFaultKind, PlannedFault
from ops.selections.selector import SelectionRefused
from ops.stack.errors import CannotStart
from routing import lanes
from routing.lanes import NORMAL

READY_WITHIN_S = 60.0
UNDO_EVERY_S = 0.5
LONG_REPLY_WORDS = 300


class FaultInjector:
    """Two faults never share a target at once. `skipped` counts those that found theirs taken."""

    def __init__(
        self, service: RunService, everyone: Cast, recorder: Recorder, *, chance: random.Random
    ) -> None:
        self._service = service
        self._cast = everyone
        self._recorder = recorder
        self._chance = chance
        self._routing = lanes.load(service.routing_file)
        self._taken: set[str] = set()
        self._in_force: set[PlannedFault] = set()
        self.under_way: set[str] = set()
        """What goes wrong at this moment, for the line of progress."""
        self.count = 0
        self.skipped = 0

    async def run(self, faults: Sequence[PlannedFault]) -> None:
        """Carry out all of them at their times. Returns when the last one is over."""
        async with asyncio.TaskGroup() as group:
            for fault in faults:
                await asyncio.sleep(max(0.0, fault.at_s - self._recorder.now()))
                group.create_task(self._carry_out(fault))

    async def _carry_out(self, fault: PlannedFault) -> None:
        places = self._places(fault)
        if places & self._taken:
            self.skipped += 1
            return
        self._taken |= places
        label = f"{fault.kind.value} {fault.target} {fault.how}".strip()
        self.under_way.add(label)
        try:
            await self._handlers[fault.kind](fault)
            self.count += 1
        except (
            psycopg.Error,
            django.db.Error,
            CannotStart,
            httpx.HTTPError,
            ChangeRefused,
            SelectionRefused,
        ):
            # Another fault is in the way of this one.
            self.skipped += 1
        finally:
            if fault in self._in_force:
                self._end(fault)
            self._taken -= places
            self.under_way.discard(label)

    def _places(self, fault: PlannedFault) -> set[str]:
        match fault.kind:
            case OrdealFaultKind.CHANGE:
                return {f"change {fault.how}"}
            case OrdealFaultKind.PROVIDER:
                return {f"lane {fault.target}"}
            case OrdealFaultKind.CLOCK | OrdealFaultKind.LISTEN | OrdealFaultKind.ROLL:
                return {fault.kind.value}
            case _:
                return {fault.target}

    @property
    def _handlers(self) -> "dict[OrdealFaultKind, Callable[[PlannedFault], Awaitable[None]]]":
        return {
            OrdealFaultKind.KILL: self._kill,
            OrdealFaultKind.TERM: self._term,
            OrdealFaultKind.STOP: self._stop,
            OrdealFaultKind.ROLL: self._roll,
            OrdealFaultKind.DATABASE: self._break_database,
            OrdealFaultKind.DISK: self._break_disk,
            OrdealFaultKind.CLOCK: self._jump_clock,
            OrdealFaultKind.LISTEN: self._cut_listeners,
            OrdealFaultKind.VALKEY: self._lose_valkey,
            OrdealFaultKind.NETWORK: self._break_network,
            OrdealFaultKind.PROVIDER: self._break_provider,
            OrdealFaultKind.CHANGE: self._change,
        }

    def _begin(self, fault: PlannedFault, **facts: Any) -> None:
        planned = {"how": fault.how, "amount": fault.amount, "lasts_s": fault.lasts_s}
        facts = {**{name: value for name, value in planned.items() if value}, **facts}
        self._in_force.add(fault)
        self._recorder.write("fault", "begins", fault=_name_in_history(fault), target=fault.target, **facts)

    def _end(self, fault: PlannedFault) -> None:
        self._in_force.discard(fault)
        self._recorder.write("fault", "ends", fault=_name_in_history(fault), target=fault.target)

    # Processes.

    async def _kill(self, fault: PlannedFault) -> None:
        program = self._service.programs[fault.target]
        program.hold_down()
        try:
            self._begin(fault)
            program.send(signal.SIGKILL)
            await asyncio.sleep(fault.lasts_s)
        finally:
            program.let_start()
        await self._until_ready(fault.target)
        self._end(fault)

    async def _term(self, fault: PlannedFault) -> None:
        program = self._service.programs[fault.target]
        program.hold_down()
        try:
            self._begin(fault)
            await program.leave()
            await asyncio.sleep(fault.lasts_s)
        finally:
            program.let_start()
        await self._until_ready(fault.target)
        self._end(fault)

    async def _roll(self, fault: PlannedFault) -> None:
        self._begin(fault)
        for name in self._service.webs:
            # Only the process whose turn it is belongs to this fault: others meet the others.
            await self._take(name)
            try:
                await self._service.programs[name].leave()
                await self._until_ready(name)
            finally:
                self._taken.discard(name)
        self._end(fault)

    async def _take(self, place: str) -> None:
        """Wait until no other fault has this target, and take it."""
        while True:
            if place not in self._taken:
                self._taken.add(place)
                return
            await asyncio.sleep(UNDO_EVERY_S)

    async def _until_ready(self, name: str) -> None:
        program = self._service.programs[name]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(program.is_ready.wait(), READY_WITHIN_S)

    async def _stop(self, fault: PlannedFault) -> None:
        """SIGSTOP, then SIGCONT."""
        service = self._service
        if fault.target == "database":
            self._begin(fault)
            await in_thread(service.database.suspend)
            await asyncio.sleep(fault.lasts_s)
            await in_thread(service.database.resume)
        elif fault.target == "valkey":
            running = service.valkey.running
            process = running.process() if running is not None else None
            if process is None:
                return
            self._begin(fault)
            process.suspend()
            await asyncio.sleep(fault.lasts_s)
            process.resume()
        else:
            program = service.programs[fault.target]
            self._begin(fault)
            program.send(signal.SIGSTOP)
            await asyncio.sleep(fault.lasts_s)
            program.send(signal.SIGCONT)
        self._end(fault)

    # Servers.

    async def _break_database(self, fault: PlannedFault) -> None:
        database = self._service.database
        match fault.how:
            case "terminate one" | "terminate all":
                self._begin(fault)
                await in_thread(
                    lambda: database.terminate_backends(
                        only_one=fault.how == "terminate one", chance=self._chance
                    )
                )
            case "crash one":
                self._begin(fault)
                await in_thread(database.crash_backend, self._chance)
                await self._insist(database.start)
            case how:
                self._begin(fault)
                await in_thread(database.shut_down, how)
                await asyncio.sleep(fault.lasts_s)
                await self._insist(database.start)
                await self._service.adopt_servers()
        self._end(fault)

    async def _break_disk(self, fault: PlannedFault) -> None:
        database = self._service.database
        if fault.how == "slow":
            self._begin(fault)
            await in_thread(database.slow_disk, True)
            await asyncio.sleep(fault.lasts_s)
            await self._insist(database.slow_disk, False)
        else:
            self._begin(fault)
            await in_thread(database.fill_disk)
            await asyncio.sleep(fault.lasts_s)
            await self._insist(database.free_disk)
            await self._service.adopt_servers()
        self._end(fault)

    async def _insist(self, undo: Callable[..., object], *arguments: object) -> None:
        """Take a fault back, again and again while another one is in the way."""
        while True:
            try:
                await in_thread(undo, *arguments)
                return
            except (psycopg.Error, CannotStart):
                await asyncio.sleep(UNDO_EVERY_S)

    async def _jump_clock(self, fault: PlannedFault) -> None:
        self._begin(fault)
        await in_thread(self._service.database.jump_clock, fault.amount)
        self._end(fault)

    async def _cut_listeners(self, fault: PlannedFault) -> None:
        self._begin(fault)
        await in_thread(self._service.database.terminate_listeners)
        self._end(fault)

    async def _lose_valkey(self, fault: PlannedFault) -> None:
        valkey = self._service.valkey
        self._begin(fault)
        await in_thread(valkey.kill)
        await asyncio.sleep(fault.lasts_s)
        await self._insist(valkey.start)
        await self._service.adopt_servers()
        self._end(fault)

    # The network.

    async def _break_network(self, fault: PlannedFault) -> None:
        side, name = fault.target.split(" ")
        door = self._service.webs[name]
        proxy: TcpProxy = door.pages if side == "page" else door.database
        self._begin(fault)
        match fault.how:
            case "cut":
                proxy.cut()
            case "delay":
                proxy.set_fault(NetworkFault(delay_s=fault.amount))
            case "throttle":
                proxy.set_fault(NetworkFault(bytes_per_s=fault.amount))
            case _:
                proxy.set_fault(NetworkFault(is_half_open=True))
        if fault.how != "cut":
            await asyncio.sleep(fault.lasts_s)
            proxy.set_fault(GOOD)
        self._end(fault)

    # Providers.

    async def _break_provider(self, fault: PlannedFault) -> None:
        order = _fault_order(fault)
        self._begin(fault)
        await in_thread(self._order_at_provider, fault.target, order)
        await asyncio.sleep(fault.lasts_s)
        # A provider that was killed meanwhile has forgotten the order.
        with contextlib.suppress(httpx.HTTPError):
            await in_thread(self._order_at_provider, fault.target, None)
        self._end(fault)

    def _order_at_provider(self, lane: str, order: dict[str, Any] | None) -> None:
        provider = self._service.provider(lane)
        try:
            if order is None:
                provider.clear_faults()
            else:
                provider.order_fault(order)
        finally:
            provider.close()

    # Changes.

    async def _change(self, fault: PlannedFault) -> None:
        everyone, target = self._cast, fault.target
        match fault.how:
            case "ceiling":
                await self._set("ceiling", int(target), lambda: cast.change_ceiling(int(target)))
                await asyncio.sleep(fault.lasts_s)
                await self._set_back("ceiling", self._service.ceiling, lambda: cast.change_ceiling(None))
            case "preset":
                await self._set("preset", target, lambda: cast.change_preset(self._routing, target))
                await asyncio.sleep(fault.lasts_s)
                await self._set_back("preset", NORMAL, lambda: cast.change_preset(self._routing, NORMAL))
            case "right":
                member = everyone.staff[int(target) % len(everyone.staff)]
                for has in (False, True):
                    await self._set_back(
                        "right",
                        {"staff": member.username, "has": has},
                        lambda has=has: cast.change_right(member, slug=everyone.slug, has=has),  # type: ignore[misc]
                    )
                    await asyncio.sleep(0 if has else fault.lasts_s)
            case _:
                person = everyone.people[int(target)]
                await self._set("card", person.name, lambda: cast.change_card(person, slug=everyone.slug))

    async def _set(self, subject: str, value: object, change: Callable[[], None]) -> None:
        await in_database(change)
        self._recorder.write("fault", "changed", subject=subject, value=value)

    async def _set_back(self, subject: str, value: object, change: Callable[[], None]) -> None:
        """Make a change, again and again while a fault is in the way."""
        while True:
            try:
                await self._set(subject, value, change)
                return
            except (django.db.Error, psycopg.Error):
                await asyncio.sleep(UNDO_EVERY_S)


def _name_in_history(fault: PlannedFault) -> str:
    """A server that stands still is a fault of that server: `stop` is for programs."""
    if fault.kind is OrdealFaultKind.STOP and fault.target in ("database", "valkey"):
        return fault.target
    return fault.kind.value


def _fault_order(fault: PlannedFault) -> dict[str, Any]:
    """What the rehearsal provider is told; see `routing.rehearsal.faults.Fault`."""
    kind, _, way = fault.how.partition(" ")
    after = int(fault.amount)
    match kind:
        case "cut":
            return {"cut": way, "after": after}
        case "hang":
            return {"hang": way, "after": after}
        case "storm":
            body = "rate_limit" if way == "429" else "server_error"
            return {"status": int(way), "error": body, "headers": {"Retry-After": "1"}}
        case "error":
            return {"error": way, "after": after}
        case "disconnect":
            return {"disconnect": way}
        case "long":
            # More chunks than a page may leave unacknowledged.
            return {"words": LONG_REPLY_WORDS}
        case _:
            return {"pace_ms": 400, "words": 10 + after}
