"""One bench from its first process to its last figure."""

import itertools
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections

from ops.bench.children import (
    DATABASE_STAGE,
    PROVIDER_STAGE,
    WEB_STAGE,
    Children,
    Crowd,
    children,
    cpu_meter,
    load_average,
    resident_bytes,
)
from ops.bench.figures import Figures, of_round, together
from ops.bench.people import signed_in
from ops.bench.place import database
from ops.bench.plan import OURS, SYSTEMS, WORDS, Load, Plan
from ops.bench.provider import Provider

BREATH_S = 0.3
"""Between two rounds, so that what one left to do is not counted to the next."""


@dataclass(frozen=True, kw_only=True)
class Sockets:
    """What idle sockets cost."""

    opened: int
    per_second: float
    bytes_each: float


@dataclass(kw_only=True)
class Findings:
    """Everything one bench measured. Memory in bytes, of the web process."""

    sockets: Sockets | None = None
    memory: dict[str, int] = field(default_factory=dict)
    loads: dict[str, dict[str, Figures]] = field(default_factory=dict)
    load_average: list[float] = field(default_factory=list)


class Bench:
    """The processes under measurement, and how each is asked."""

    def __init__(self, started: Children, folder: Path, plan: Plan, say: Callable[[str], None]) -> None:
        self._started = started
        self._plan = plan
        self._say = say
        self._postgres = database(folder)
        self._tokens = folder / "tokens"
        self.findings = Findings(load_average=[load_average()])

    def run(self) -> Findings:
        """Start everything, measure, and leave the ending to `children`."""
        self._start()
        self._measure_sockets()
        for load in self._plan.loads:
            self._say(f"{load.title} …")
            self.findings.loads[load.title] = self._measure(load)
            self._remember(f"after {load.title}")
        self.findings.load_average.append(load_average())
        return self.findings

    def _start(self) -> None:
        self._say("Starting a database, a provider, a relay and one web process …")
        self._postgres.start()
        running = self._postgres.running
        assert running is not None
        self._started.note("postgres", running.pid, stage=DATABASE_STAGE, with_signal=signal.SIGINT)
        call_command("migrate", verbosity=0)
        self._cookies = signed_in(self._plan.participants)
        # Everybody's turn comes round, so that nobody asks more in a minute than one person may.
        self._turn_of = itertools.cycle(self._cookies)
        connections.close_all()
        for connection in connections.all():
            connection.close_pool()  # type: ignore[attr-defined]
        command = ["-m", "routing.rehearsal", "--port", "0", "--token-dir", str(self._tokens), "--keep-texts"]
        _, upstream = self._started.start("rehearsal", command, stage=PROVIDER_STAGE, says="rehearsal: ")
        self._upstream = upstream
        self._provider = Provider(upstream, tokens=self._tokens)
        self._web, web_url = self._started.start(
            "web",
            ["manage.py", "serve", "--port", "0"],
            REHEARSAL_URL=upstream,
            stage=WEB_STAGE,
            says="serving: ",
        )
        self._relay, relay_url = self._started.start(
            "relay", ["-m", "ops.bench.relay", "--upstream", upstream], stage=WEB_STAGE, says="relay: "
        )
        self._web_socket = web_url.replace("http", "ws", 1) + "/ws/chat/"
        self._relay_socket = relay_url.replace("http", "ws", 1) + "/ws/"
        self._database_cpu = cpu_meter(running.pid)
        self._cpu = {"companion": cpu_meter(self._web), "relay": cpu_meter(self._relay)}

    def _measure_sockets(self) -> None:
        """Open many at once, twice: what the first time brings in for good is not any socket's own."""
        count = self._plan.participants
        for attempt in ("warm", "measured"):
            before = resident_bytes(self._web)
            crowd = self._crowd(OURS, count)
            time.sleep(1.5)
            held = resident_bytes(self._web) - before
            if attempt == "measured":
                self.findings.sockets = Sockets(
                    opened=count, per_second=count / crowd.connected_s, bytes_each=held / count
                )
            crowd.leave()
            time.sleep(1.5)
        self._remember("at rest")

    def _measure(self, load: Load) -> dict[str, Figures]:
        """Every system of a load takes its turn in every round, so that a busy moment of the machine hits all."""
        self._provider.speak_as(load)
        crowds = {name: self._crowd(name, load.gathered) for name in load.systems}
        rounds: dict[str, list[Figures]] = {name: [] for name in crowds}
        for number in range(1, load.rounds + 1):
            for name, crowd in crowds.items():
                rounds[name].append(self._round(name, crowd, load, number))
        for crowd in crowds.values():
            crowd.leave()
        return {name: together(measured) for name, measured in rounds.items()}

    def _round(self, name: str, crowd: Crowd, load: Load, number: int) -> Figures:
        kind = SYSTEMS[name].kind
        cpu = self._cpu.get(kind)
        self._provider.forget()
        served, stored = cpu() if cpu else 0.0, self._database_cpu()
        first = (number - 1) * load.people % load.gathered
        answer = crowd.ask(f"Round {number}", who=range(first, first + load.people), times=load.times)
        time.sleep(BREATH_S)
        return of_round(
            answer,
            self._provider.started(),
            asked=load.people * load.times,
            words=WORDS,
            cpu_s=cpu() - served if cpu else None,
            database_cpu_s=self._database_cpu() - stored if kind == "companion" else None,
        )

    def _crowd(self, name: str, people: int) -> Crowd:
        system = SYSTEMS[name]
        plan: dict[str, Any] = {"kind": system.kind, "people": people, "client": system.client}
        match system.kind:
            case "companion":
                plan |= {"url": self._web_socket, "cookies": [next(self._turn_of) for _ in range(people)]}
            case "relay":
                plan |= {"url": f"{self._relay_socket}{system.client}/"}
            case _:
                plan |= {"url": self._upstream}
        return Crowd(self._started, f"people in front of {name}", plan)

    def _remember(self, when: str) -> None:
        self.findings.memory[when] = resident_bytes(self._web)


def run(folder: Path, plan: Plan, say: Callable[[str], None]) -> Findings:
    """Carry out a plan in this folder. Nothing is left running, however it ends."""
    with children(folder) as started:
        return Bench(started, folder, plan, say).run()
