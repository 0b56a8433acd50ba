"""Runs a bench: starts its processes, measures each load, collects the figures."""

import itertools
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections

from ops.bench.crowd_process import CrowdProcess, DeskCrowdProcess
from ops.bench.figures import RoundFigures, combine_rounds, summarize_round
from ops.bench.floor import measure_two_commits
from ops.bench.plan import OURS, SYSTEMS, WORDS, BenchLoad, BenchPlan, SupervisionLoad
from ops.bench.provider import read_starts, set_pace
from ops.bench.supervision import SupervisionBench, SupervisionFigures
from ops.chat_client.frames import STAFF_SOCKET_PATH, socket_url
from ops.chat_client.guests import invite
from ops.testbed.private_folder import postgres_in
from ops.testbed.processes import (
    DATABASE_STAGE,
    PROVIDER_STAGE,
    WEB_STAGE,
    Children,
    cpu_meter,
    load_average,
    resident_bytes,
    run_children,
)
from ops.testbed.rehearsal_provider import RehearsalProvider
from ops.testbed.staff import invite_staff, list_conversations

ROUND_PAUSE_S = 0.3
"""Between two rounds, so that the CPU of one round's remaining work is not counted to the next."""


@dataclass(frozen=True, kw_only=True)
class IdleSockets:
    """The cost of idle sockets. Memory in bytes of the web process."""

    opened: int
    per_second: float
    bytes_each: float


@dataclass(kw_only=True)
class BenchResult:
    """Everything one bench measured. Memory in bytes, of the web process."""

    sockets: IdleSockets | None = None
    two_commits: tuple[float, float] | None = None
    """p50 and p95 in milliseconds."""
    memory: dict[str, int] = field(default_factory=dict)
    loads: dict[str, dict[str, RoundFigures]] = field(default_factory=dict)
    supervision: SupervisionFigures | None = None
    load_average: list[float] = field(default_factory=list)


class Bench:
    """The processes under measurement, and the orders they get."""

    def __init__(self, children: Children, folder: Path, plan: BenchPlan, say: Callable[[str], None]) -> None:
        self._children = children
        self._plan = plan
        self._say = say
        self._postgres = postgres_in(folder)
        self._tokens = folder / "tokens"
        self.result = BenchResult(load_average=[load_average()])

    def run(self) -> BenchResult:
        """Start everything and measure. `run_children` ends the processes."""
        self._start()
        self._measure_sockets()
        self.result.two_commits = measure_two_commits(self._postgres.url)
        for load in self._plan.loads:
            self._say(f"{load.title} …")
            self.result.loads[load.title] = self._measure(load)
            self._record_memory(f"after {load.title}")
        if self._plan.supervision is not None:
            self.result.supervision = self._measure_supervision(self._plan.supervision)
        self._provider.close()
        self.result.load_average.append(load_average())
        return self.result

    def _start(self) -> None:
        self._say("Starting a database, a provider, a relay and one web process …")
        self._postgres.start()
        running = self._postgres.running
        assert running is not None
        self._children.adopt("postgres", running.pid, stage=DATABASE_STAGE, end_signal=signal.SIGINT)
        call_command("migrate", verbosity=0)
        guests = invite(self._plan.participants)
        # Rotate through all people, so that none asks more in a minute than one person may.
        self._session_keys = itertools.cycle(guests.session_keys)
        self._conversations = dict(zip(guests.session_keys, list_conversations(guests.site), strict=True))
        load = self._plan.supervision
        self._staff_keys = invite_staff(load.screens, site=guests.site) if load else []
        connections.close_all()
        for connection in connections.all():
            connection.close_pool()  # type: ignore[attr-defined]
        command = ["-m", "routing.rehearsal", "--port", "0", "--token-dir", str(self._tokens), "--keep-texts"]
        _, upstream = self._children.start("rehearsal", command, stage=PROVIDER_STAGE, prefix="rehearsal: ")
        self._upstream = upstream
        self._provider = RehearsalProvider(upstream.removesuffix("/v1"), tokens=self._tokens)
        self._web, web_url = self._children.start(
            "web",
            ["manage.py", "serve", "--port", "0"],
            REHEARSAL_URL=upstream,
            stage=WEB_STAGE,
            prefix="serving: ",
        )
        self._relay, relay_url = self._children.start(
            "relay", ["-m", "ops.bench.relay", "--upstream", upstream], stage=WEB_STAGE, prefix="relay: "
        )
        self._web_socket = socket_url(web_url)
        self._staff_socket = socket_url(web_url, STAFF_SOCKET_PATH)
        self._relay_socket = relay_url.replace("http", "ws", 1) + "/ws/"
        self._database_cpu = cpu_meter(running.pid)
        self._cpu = {"companion": cpu_meter(self._web), "relay": cpu_meter(self._relay)}

    def _measure_sockets(self) -> None:
        """Open many at once, twice: the first time allocates memory that stays, which is no socket's own."""
        count = self._plan.participants
        for attempt in ("warm", "measured"):
            before = resident_bytes(self._web)
            crowd = self._crowd(OURS, count)
            time.sleep(1.5)
            held = resident_bytes(self._web) - before
            if attempt == "measured":
                self.result.sockets = IdleSockets(
                    opened=count, per_second=count / crowd.connected_s, bytes_each=held / count
                )
            crowd.leave()
            time.sleep(1.5)
        self._record_memory("at rest")

    def _measure(self, load: BenchLoad) -> dict[str, RoundFigures]:
        """Measure each system in every round, so that a busy moment of the machine affects all of them."""
        set_pace(self._provider, load)
        crowds = {name: self._crowd(name, load.connected) for name in load.systems}
        rounds: dict[str, list[RoundFigures]] = {name: [] for name in crowds}
        for number in range(1, load.rounds + 1):
            for name, crowd in crowds.items():
                rounds[name].append(self._round(name, crowd, load, number))
        for crowd in crowds.values():
            crowd.leave()
        return {name: combine_rounds(measured) for name, measured in rounds.items()}

    def _round(self, name: str, crowd: CrowdProcess, load: BenchLoad, number: int) -> RoundFigures:
        kind = SYSTEMS[name].kind
        cpu = self._cpu.get(kind)
        self._provider.clear_requests()
        served, stored = cpu() if cpu else 0.0, self._database_cpu()
        first = (number - 1) * load.people % load.connected
        answer = crowd.ask(f"Round {number}", places=range(first, first + load.people), times=load.times)
        time.sleep(ROUND_PAUSE_S)
        return summarize_round(
            answer,
            read_starts(self._provider),
            asked=load.people * load.times,
            words=WORDS,
            cpu_s=cpu() - served if cpu else None,
            database_cpu_s=self._database_cpu() - stored if kind == "companion" else None,
        )

    def _measure_supervision(self, load: SupervisionLoad) -> SupervisionFigures:
        self._say(f"{load.screens} screens of staff at {load.people} people …")
        keys = [next(self._session_keys) for _ in range(load.people)]
        raisers = [next(self._session_keys) for _ in range(2 * load.flags)]
        crowd = CrowdProcess(
            self._children,
            "supervised people",
            {"kind": "companion", "people": load.people, "url": self._web_socket, "session_keys": keys},
        )
        desk = DeskCrowdProcess(
            self._children,
            {
                "url": self._web_socket,
                "staff_url": self._staff_socket,
                "staff_keys": self._staff_keys,
                "raisers": [
                    {"session_key": key, "conversation": self._conversations[key]} for key in raisers
                ],
            },
        )
        figures = SupervisionBench(
            load,
            crowd=crowd,
            desk=desk,
            provider=self._provider,
            cpu=self._cpu["companion"],
            conversations=[self._conversations[key] for key in keys],
        ).measure()
        desk.leave()
        crowd.leave()
        return figures

    def _crowd(self, name: str, people: int) -> CrowdProcess:
        system = SYSTEMS[name]
        plan: dict[str, Any] = {"kind": system.kind, "people": people, "client": system.client}
        match system.kind:
            case "companion":
                plan |= {
                    "url": self._web_socket,
                    "session_keys": [next(self._session_keys) for _ in range(people)],
                }
            case "relay":
                plan |= {"url": f"{self._relay_socket}{system.client}/"}
            case _:
                plan |= {"url": self._upstream}
        return CrowdProcess(self._children, f"people in front of {name}", plan)

    def _record_memory(self, when: str) -> None:
        self.result.memory[when] = resident_bytes(self._web)


def run(folder: Path, plan: BenchPlan, say: Callable[[str], None]) -> BenchResult:
    """Carry out a plan in this folder. All processes end, however the run does."""
    with run_children(folder) as children:
        return Bench(children, folder, plan, say).run()
