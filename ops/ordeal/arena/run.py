"""One run: starts the service, lets people, staff and faults loose, waits until all is calm, reads what was stored."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.core.management import call_command

from companion.cards import derive_card
from companion.turn_policy import LEASE_S
from ops.ordeal.arena import cast, service, stored
from ops.ordeal.arena.cast import Cast, in_database
from ops.ordeal.arena.injector import FaultInjector
from ops.ordeal.arena.load_sampler import sample_load
from ops.ordeal.arena.person import ScriptedPerson
from ops.ordeal.arena.programs import in_thread
from ops.ordeal.arena.recorder import Recorder
from ops.ordeal.arena.service import RunService, open_service
from ops.ordeal.arena.staff import StaffMember
from ops.ordeal.machine_load import MachineLoad
from ops.ordeal.plan.faults import PROVIDERS
from ops.ordeal.plan.steps import OrdealPlan
from ops.testbed.processes import run_children

PROGRESS_EVERY_S = 5.0
COME_IN_WITHIN_S = 40.0
"""Once all is calm, each person has an open page by then."""
LOOK_EVERY_S = 0.25
LAST_FRAMES_S = 1.5
"""After the last turn has ended: the time of a tick, and of the frames on their way."""
FINISH_WITHIN_S = 20.0
LOAD_LOOKS_BACK_S = 10.0
"""The machine goes on as busy as it has been for so long."""


@dataclass(frozen=True, kw_only=True)
class ArenaFigures:
    """What happened, in numbers."""

    events: int
    faults: int
    skipped: int
    lasted_s: float


async def run_plan(plan: OrdealPlan, folder: Path, history: Path, say: Callable[[str], None]) -> ArenaFigures:
    """Carry out a plan in a private folder and write its history. Raises ChildFailed, CannotStart."""
    recorder = Recorder(history)
    try:
        with run_children(folder) as children:
            async with open_service(
                folder,
                children,
                recorder,
                processes=plan.size.processes,
                ceiling=plan.size.ceiling,
                migrate=lambda: in_database(_migrate),
            ) as running:
                say(f"The service runs: {plan.size.processes} web processes, a worker and two lanes.")
                everyone = await in_database(lambda: cast.make_cast(plan))
                figures = await _Run(plan, running, everyone, recorder, say).carry_out()
    finally:
        recorder.close()
    return figures


def _migrate() -> None:
    call_command("migrate", verbosity=0)


class _Run:
    """The time between the start of the service and its end."""

    def __init__(
        self,
        plan: OrdealPlan,
        running: RunService,
        everyone: Cast,
        recorder: Recorder,
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._service = running
        self._cast = everyone
        self._recorder = recorder
        self._say = say
        chance = random.Random(plan.seed ^ 0x0DEA1)
        doors = [(name, door.address) for name, door in running.webs.items()]
        self._people = self._make_people(doors, chance)
        self._staff = self._make_staff(doors, chance)
        self._injector = FaultInjector(running, everyone, recorder, chance=random.Random(chance.random()))

    async def carry_out(self) -> ArenaFigures:
        """From the first word to the last row."""
        recorder = self._recorder
        recorder.start_clock()
        recorder.write(
            "run",
            "began",
            at=0.0,
            seed=self._plan.seed,
            **stored.list_facts(self._cast),
            limits=self._limits(),
        )
        async with sample_load(recorder) as load:
            await self._play()
            recorder.write("run", "calm")
            self._say("All faults are over. Waiting until everything has its end …")
            await self._settle(load)
        recorder.write("run", "ended")
        lasted_s = recorder.now()
        await asyncio.gather(
            *(person.leave() for person in self._people), *(member.leave() for member in self._staff)
        )
        await self._service.end_programs()
        await in_thread(stored.record_stored, self._service.database, self._cast, recorder)
        await in_thread(stored.record_left, self._service.database, self._service.folder, recorder)
        await in_thread(self._record_providers)
        return ArenaFigures(
            events=recorder.count,
            faults=self._injector.count,
            skipped=self._injector.skipped,
            lasted_s=lasted_s,
        )

    def _record_providers(self) -> None:
        for lane in PROVIDERS:
            ends = self._service.programs[f"provider-{lane}"].ended_at
            for start, ended_at in enumerate(ends, start=1):
                self._recorder.write_provider_log(
                    lane,
                    self._service.provider_log(lane, start),
                    prefix=f"{lane}-{start}.",
                    ended_at=ended_at,
                )

    def _limits(self) -> dict[str, object]:
        return {
            "ceiling": self._plan.size.ceiling,
            "wait_ceiling_s": service.WAIT_CEILING_S,
            "lease_s": LEASE_S,
            "hold_s": service.HOLD_S,
            "end_within_s": service.END_WITHIN_S,
            "lanes": dict.fromkeys(PROVIDERS, service.LANE_TAKES),
        }

    # The cast.

    def _make_people(self, doors: Sequence[tuple[str, str]], chance: random.Random) -> list[ScriptedPerson]:
        return [
            ScriptedPerson(
                script,
                recorder=self._recorder,
                doors=doors,
                read_code=lambda person=person: self._read_code(person.participant),  # type: ignore[misc]
                find_visit=lambda person=person: self._find_visit(person.participant),  # type: ignore[misc]
                chance=random.Random(chance.random()),
            )
            for script, person in zip(self._plan.people, self._cast.people, strict=True)
        ]

    def _make_staff(self, doors: Sequence[tuple[str, str]], chance: random.Random) -> list[StaffMember]:
        return [
            StaffMember(
                script,
                account=(member.username, member.password, member.user),
                recorder=self._recorder,
                doors=doors,
                people=[(person.participant, person.conversation) for person in self._cast.people],
                chance=random.Random(chance.random()),
            )
            for script, member in zip(self._plan.staff, self._cast.staff, strict=True)
        ]

    async def _read_code(self, participant: int) -> str:
        """The code of a person's card as it is now."""
        query = "SELECT card_handle, card_issue FROM companion_participant WHERE id = %s"
        row = await self._read_row(query, participant)
        return derive_card(row["card_handle"], row["card_issue"]).code

    async def _find_visit(self, participant: int) -> str:
        """The id of a person's newest visit."""
        query = "SELECT id FROM companion_visit WHERE participant_id = %s ORDER BY opened_at DESC LIMIT 1"
        return str((await self._read_row(query, participant))["id"])

    async def _read_row(self, query: str, participant: int) -> dict[str, Any]:
        """The row of a query, as soon as the database answers."""
        while True:
            with contextlib.suppress(psycopg.Error):
                [row] = await in_thread(self._service.database.rows, query, (participant,))
                return row
            await asyncio.sleep(LOOK_EVERY_S)

    # The time.

    async def _play(self) -> None:
        """Let everyone loose until the time is over and the last fault has been taken back."""
        runs = [*(person.run() for person in self._people), *(member.run() for member in self._staff)]
        scripts = [asyncio.create_task(run) for run in runs]
        faults = asyncio.create_task(self._injector.run(self._plan.faults))
        while self._recorder.now() < self._plan.size.lasts_s:
            left_s = self._plan.size.lasts_s - self._recorder.now()
            await asyncio.sleep(min(PROGRESS_EVERY_S, max(0.0, left_s)))
            self._say(self._format_progress())
            _raise_failures([*scripts, faults])
        for script in scripts:
            script.cancel()
        await asyncio.gather(*scripts, return_exceptions=True)
        for person in self._people:
            person.wake()
        await faults
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(
                asyncio.gather(*(member.finish() for member in self._staff)), FINISH_WITHIN_S
            )

    def _format_progress(self) -> str:
        going_on = ", ".join(sorted(self._injector.under_way)) or "calm"
        return f"{self._recorder.now():5.0f} s  {self._recorder.count:6d} events  {going_on}"

    async def _settle(self, load: MachineLoad) -> None:
        """Everyone has a page again, and every turn its end, or the time for it is over."""
        now = self._recorder.now()

        def allow(limit_s: float) -> float:
            return load.allow(limit_s, now - LOAD_LOOKS_BACK_S, now)

        pages = asyncio.gather(*(person.come_in() for person in self._people))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(pages, allow(COME_IN_WITHIN_S))
        with contextlib.suppress(TimeoutError):
            ends_within_s = allow(service.END_WITHIN_S + service.WAIT_CEILING_S)
            await asyncio.wait_for(self._wait_for_ends(), ends_within_s)
        await asyncio.sleep(allow(LAST_FRAMES_S))

    async def _wait_for_ends(self) -> None:
        while True:
            with contextlib.suppress(psycopg.Error):
                if not await in_thread(stored.count_live_turns, self._service.database, self._cast):
                    return
            await asyncio.sleep(LOOK_EVERY_S)


def _raise_failures(tasks: Sequence["asyncio.Task[None]"]) -> None:
    """A script or a fault that broke is an error of this program, not of the service."""
    for task in tasks:
        if task.done() and not task.cancelled() and (failure := task.exception()) is not None:
            raise failure
