"""Carries out a growth run: a database and a web process of its own, filled step by step, measured at each size."""

import asyncio
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from django.core.management import call_command
from django.db import connection, connections

from ops.chat_client.guests import invite
from ops.growth import churn, plan
from ops.growth.churn import Churn, ChurnPoint
from ops.growth.figures import Background, OperationCost, OperationGrowth, attribute, count_by_second
from ops.growth.filling import CEILING, Filling, OnProgress
from ops.growth.operations import MeasuredPeople, Operations, ServiceParts
from ops.growth.plan import Growing, GrowthPlan
from ops.growth.plan_log import SERVER_SETTINGS, PlanLog
from ops.stack.postgres import EmbeddedPostgres
from ops.testbed.processes import (
    DATABASE_STAGE,
    PROVIDER_STAGE,
    WEB_STAGE,
    Children,
    load_average,
    run_children,
)
from ops.testbed.rehearsal_provider import RehearsalProvider
from ops.testbed.staff import invite_operator, invite_staff, list_conversations

USUAL_PEOPLE, LONG_CONVERSATIONS = 9, 3
"""The usual ones write in turn: a person may send twenty messages a minute."""
MEASURED_PEOPLE = USUAL_PEOPLE + LONG_CONVERSATIONS
PEOPLE_HERE = 100
"""Participants of the measured site, those included."""
USUAL_TURNS = 60
"""Turns that each measured person has."""
DATABASE_SETTINGS = {
    **SERVER_SETTINGS,
    # The disk is not measured, and what is filled here is not kept.
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
}
PROMPT_REPLY = {"words": 12, "pace_ms": 0.0, "first_word_s": 0.0}


@dataclass(frozen=True, kw_only=True)
class GrowthResult:
    """Everything that one run measured."""

    plan: GrowthPlan
    growths: Sequence[OperationGrowth]
    database_bytes: int
    load_average: tuple[float, float]
    """Of the machine, before and after."""

    @property
    def broken(self) -> list[OperationGrowth]:
        """What grew, or was planned badly."""
        return [growth for growth in self.growths if not growth.holds]


class GrowthRun:
    """The processes under measurement, what fills them and what measures them."""

    def __init__(
        self,
        folder: Path,
        chosen: GrowthPlan,
        build_parts: Callable[[], ServiceParts],
        *,
        say: Callable[[str], None],
        on_progress: OnProgress,
    ) -> None:
        self._folder = folder
        self._plan = chosen
        self._build_parts = build_parts
        self._say = say
        self._on_progress = on_progress

    def run(self) -> GrowthResult:
        """Start everything, grow and measure. All processes end, however it does."""
        before = load_average()
        with run_children(self._folder) as children, ExitStack() as stack:
            self._say("Starting a database, a provider and one web process …")
            self._url, log = start_database(children, self._folder, DATABASE_SETTINGS)
            self._log = PlanLog(self._url, log)
            stack.callback(self._log.close)
            people = self._invite()
            stack.enter_context(self._filled(people))
            web = self._start_service(children, stack, token=people.token)
            self._operations = Operations(web, people, self._build_parts())
            stack.callback(_close_pages)
            stack.callback(self._operations.close)
            self._background = self._watch_background()
            growths = [growth for growing in self._plan.growing for growth in self._grow(growing)]
            size = self._read_database_bytes()
        return GrowthResult(
            plan=self._plan,
            growths=growths,
            database_bytes=size,
            load_average=(before, load_average()),
        )

    def _invite(self) -> MeasuredPeople:
        guests = invite(MEASURED_PEOPLE)
        [supervisor] = invite_staff(1, site=guests.site)
        return MeasuredPeople(
            site=guests.site,
            session_keys=guests.session_keys,
            writers=guests.session_keys[:USUAL_PEOPLE],
            conversations=list_conversations(guests.site),
            supervisor=supervisor,
            operator=invite_operator(),
            token=secrets.token_urlsafe(24),
        )

    @contextmanager
    def _filled(self, people: MeasuredPeople) -> Iterator[None]:
        """The rows that everything is measured beside."""
        self._people = people
        self._filling = Filling(self._url, site=people.site, on_progress=self._on_progress)
        try:
            self._filling.add_people_here(PEOPLE_HERE - MEASURED_PEOPLE)
            for conversation in people.conversations[:USUAL_PEOPLE]:
                self._filling.add_turns_of(conversation, USUAL_TURNS)
            yield
        finally:
            self._filling.close()

    def _start_service(self, children: Children, stack: ExitStack, *, token: str) -> str:
        tokens = self._folder / "tokens"
        command = ["-m", "routing.rehearsal", "--port", "0", "--token-dir", str(tokens)]
        _, upstream = children.start("rehearsal", command, stage=PROVIDER_STAGE, prefix="rehearsal: ")
        provider = stack.enter_context(RehearsalProvider(upstream.removesuffix("/v1"), tokens=tokens))
        provider.order_fault(PROMPT_REPLY)
        _, web = children.start(
            "web",
            ["manage.py", "serve", "--port", "0"],
            stage=WEB_STAGE,
            prefix="serving: ",
            REHEARSAL_URL=upstream,
            COMPANION_CEILING=str(CEILING),
            OPS_TOKEN=token,
        )
        return web

    def _grow(self, growing: Growing) -> Iterator[OperationGrowth]:
        costs: dict[str, dict[int, OperationCost]] = {name: {} for name in growing.operations}
        for place, size in enumerate(growing.sizes):
            reader = self._fill(growing, place, size)
            self._say(f"{size:,} {growing.title} …")
            self._filling.prepare()
            with self._operations.reading(reader):
                for name in growing.operations:
                    costs[name][size] = self._measure(name)
        if growing.name == plan.WAITING:
            self._filling.end_waiting()
        for name in growing.operations:
            title = self._operations[name].title
            yield OperationGrowth(growing=growing.name, operation=name, title=title, costs=costs[name])

    def _fill(self, growing: Growing, place: int, size: int) -> int:
        """Fill up to a size; returns whose conversation is read at it."""
        match growing.name:
            case plan.TURNS:
                self._filling.add_turns(size)
            case plan.CONVERSATION:
                reader = USUAL_PEOPLE + place
                self._filling.add_turns_of(self._people.conversations[reader], size)
                return reader
            case plan.PEOPLE:
                self._filling.add_people(size)
            case plan.WAITING:
                self._filling.add_people(size + PEOPLE_HERE)
                self._filling.add_waiting(size)
            case plan.FLAGS:
                self._filling.add_flags(size)
            case plan.RECORD:
                self._filling.add_record(size)
        return 0

    def _measure(self, name: str) -> OperationCost:
        if name == "second":
            return self._watch_process()
        operation = self._operations[name]
        repeats = operation.repeats or self._plan.repeats
        operation.run()
        timed = [operation.run() for _ in range(repeats)]
        with self._log.recording() as logged:
            began = time.monotonic()
            for _ in range(repeats):
                operation.run()
            took = time.monotonic() - began
        return OperationCost(
            statements=attribute(logged, self._background, repeats=repeats, seconds=took),
            times_ms={what: median(one[what] for one in timed) for what in timed[0]},
            units=operation.units(),
        )

    def _watch_background(self) -> Background:
        """What the processes do while nothing is asked of them and no screen is open."""
        seconds = self._plan.background_s
        with self._log.recording() as logged:
            self._operations.idle(seconds)
        return Background.measure(logged, seconds=seconds)

    def _watch_process(self) -> OperationCost:
        with self._operations.open_screens(), self._log.recording() as logged:
            self._operations.idle(self._plan.background_s)
        return count_by_second(logged, seconds=self._plan.background_s)

    def _read_database_bytes(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])


def run_churn(
    folder: Path,
    turns: int,
    build_parts: Callable[[], ServiceParts],
    *,
    say: Callable[[str], None],
    on_progress: OnProgress,
) -> list[ChurnPoint]:
    """Play so many turns in a database of their own; returns what they left behind on the way."""
    with run_children(folder) as children, ExitStack() as stack:
        say("Starting a database …")
        url, log_file = start_database(children, folder, DATABASE_SETTINGS | churn.DATABASE_SETTINGS)
        log = PlanLog(url, log_file)
        stack.callback(log.close)
        stack.callback(_close_pages)
        filling = Filling(url, site=invite(1).site, on_progress=on_progress)
        stack.callback(filling.close)
        filling.add_people(churn.BATCH_TURNS)
        parts = build_parts()

        async def play() -> list[ChurnPoint]:
            async with parts.build_pool() as pool:
                player = Churn(pool, log, policy=parts.policy, route=parts.route)
                return await player.run(turns, on_progress=on_progress)

        return asyncio.run(play())


def start_database(children: Children, folder: Path, settings: Mapping[str, str]) -> tuple[str, Path]:
    """Start a migrated database under a folder; returns its address and its log. `children` end it."""
    log = folder / "postgres.log"
    postgres = EmbeddedPostgres(folder / "postgres", log=log, settings=settings)
    postgres.start()
    running = postgres.running
    assert running is not None
    children.adopt("postgres", running.pid, stage=DATABASE_STAGE, end_signal=signal.SIGINT)
    call_command("migrate", verbosity=0)
    return postgres.url, log


def _close_pages() -> None:
    for one in connections.all():
        one.close()
        one.close_pool()  # type: ignore[attr-defined]
