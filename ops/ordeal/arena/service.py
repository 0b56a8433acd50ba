"""The service of a run: database, queue, two lanes, web processes and worker, with a network in between."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from ops.ordeal.arena.database import RunDatabase
from ops.ordeal.arena.programs import KeptProgram, in_roster_thread, in_thread
from ops.ordeal.arena.recorder import Recorder
from ops.ordeal.arena.tcp_proxy import TcpProxy
from ops.ordeal.plan.faults import PROVIDERS
from ops.stack.postgres import NAME, PORT
from ops.stack.valkey import EmbeddedValkey
from ops.testbed.processes import (
    DATABASE_STAGE,
    PROVIDER_STAGE,
    WEB_STAGE,
    Children,
)
from ops.testbed.rehearsal_provider import RehearsalProvider

WAIT_CEILING_S = 8
HOLD_S = 600
TURN_BUDGET_S = 15
END_WITHIN_S = 60.0
"""An admitted turn has its end by then: the budget until its first word, its words, the lease and the sweep."""
LANE_TAKES = 20
PACE_MS, FIRST_WORD_MS = 30, 80
IDENTIFY_EVERY_S = 0.2
ADAPTERS = dict(zip(PROVIDERS, ("openai", "anthropic"), strict=True))


@dataclass(kw_only=True)
class WebDoor:
    """One web process with the network on both of its sides."""

    program: KeptProgram
    pages: TcpProxy
    database: TcpProxy

    @property
    def address(self) -> str:
        """Where pages reach it."""
        return f"http://127.0.0.1:{self.pages.port}"


@dataclass(kw_only=True)
class RunService:
    """Everything that runs. Names of `programs`: `web-1` …, `worker`, `provider-first`, `provider-second`."""

    folder: Path
    children: Children
    recorder: Recorder
    database: RunDatabase
    valkey: EmbeddedValkey
    ceiling: int
    webs: dict[str, WebDoor] = field(default_factory=dict)
    programs: dict[str, KeptProgram] = field(default_factory=dict)
    proxies: list[TcpProxy] = field(default_factory=list)

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens"

    @property
    def routing_file(self) -> Path:
        return self.folder / "routing.toml"

    def provider(self, lane: str) -> RehearsalProvider:
        """The operator's side of a lane's provider, as it runs now."""
        return RehearsalProvider(
            self.programs[f"provider-{lane}"].said.removesuffix("/v1"), tokens=self.tokens
        )

    def provider_log(self, lane: str, start: int) -> Path:
        """What the `start`th process of a lane's provider was asked and said."""
        return self.folder / f"provider-{lane}-{start}.jsonl"

    # Its start.

    async def start(self, *, processes: int, migrate: Callable[[], Awaitable[None]]) -> None:
        """Start everything. Raises ChildFailed, CannotStart."""
        await in_thread(self.database.mount_small_disk)
        await in_thread(self.database.start)
        await migrate()
        await in_thread(self.valkey.start)
        await self.adopt_servers()
        await asyncio.gather(*(self._start_provider(lane) for lane in PROVIDERS))
        self.routing_file.write_text(self._format_routing())
        for number in range(1, processes + 1):
            await self._start_web(f"web-{number}")
        await self._start_worker()

    async def adopt_servers(self) -> None:
        """Have the guard end the database server and Valkey that run now."""
        await in_roster_thread(self._adopt_servers)

    def _adopt_servers(self) -> None:
        self._adopt("postgres", self.database.server.running, end_signal=signal.SIGINT)
        self._adopt("valkey", self.valkey.running, end_signal=signal.SIGTERM)

    def _adopt(self, name: str, running: object, *, end_signal: signal.Signals) -> None:
        pid = getattr(running, "pid", None)
        if pid is not None:
            self.children.adopt(name, pid, stage=DATABASE_STAGE, end_signal=end_signal)

    async def _start_provider(self, lane: str) -> None:
        name = f"provider-{lane}"
        self.tokens.mkdir(exist_ok=True)

        def command() -> Sequence[str]:
            program = self.programs[name]
            # The lanes name one address: later processes take the port of the first.
            port = program.said.rsplit(":", 1)[1].partition("/")[0] if program.said else "0"
            pace = ("--pace-ms", str(PACE_MS), "--first-word-ms", str(FIRST_WORD_MS), "--coded")
            log = ("--log", str(self.provider_log(lane, program.starts)), "--token-dir", str(self.tokens))
            return ("-m", "routing.rehearsal", "--port", port, *pace, *log)

        self._add(name, command, stage=PROVIDER_STAGE, prefix="rehearsal: ")
        await self.programs[name].start()

    async def _start_web(self, name: str) -> None:
        database = await self._open_database_proxy()
        state = self.folder / name
        state.mkdir()
        program = self._add(
            name,
            lambda: ("manage.py", "serve", "--port", "0"),
            stage=WEB_STAGE,
            prefix="serving: ",
            identify=self._find_process,
            **self._settings(database, state),
        )
        pages = TcpProxy(
            lambda: asyncio.open_connection("127.0.0.1", int(program.said.rsplit(":", 1)[1] or 9))
        )
        await pages.start()
        self.proxies.append(pages)
        self.webs[name] = WebDoor(program=program, pages=pages, database=database)
        await program.start()

    async def _start_worker(self) -> None:
        database = await self._open_database_proxy()
        state = self.folder / "worker"
        state.mkdir()
        command = ("-m", "celery", "--app", "ops.project.celery", "worker", "--beat")
        options = ("--schedule", str(state / "beat"), "--concurrency", "1", "--loglevel", "WARNING")
        alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
        self._add(
            "worker",
            lambda: (*command, *options, *alone),
            stage=WEB_STAGE,
            prefix="",
            **self._settings(database, state),
        )
        await self.programs["worker"].start()

    def _add(
        self, name: str, command: Callable[[], Sequence[str]], *, stage: int, prefix: str, **rest: object
    ) -> KeptProgram:
        identify = rest.pop("identify", None)
        environment: Mapping[str, str] = {key: str(value) for key, value in rest.items()}
        program = self.programs[name] = KeptProgram(
            name,
            children=self.children,
            recorder=self.recorder,
            command=command,
            stage=stage,
            prefix=prefix,
            environment=environment,
            identify=identify,  # type: ignore[arg-type]
        )
        return program

    async def _open_database_proxy(self) -> TcpProxy:
        socket_folder = self.database.socket_folder
        proxy = TcpProxy(lambda: asyncio.open_unix_connection(socket_folder / f".s.PGSQL.{PORT}"))
        await proxy.start()
        self.proxies.append(proxy)
        return proxy

    def _settings(self, database: TcpProxy, state: Path) -> dict[str, str]:
        return {
            "DATABASE_URL": f"postgresql://{NAME}@127.0.0.1:{database.port}/{NAME}?sslmode=disable",
            "VALKEY_URL": self.valkey.url,
            "COMPANION_STATE_DIR": str(state),
            "COMPANION_ROUTING": str(self.routing_file),
            "COMPANION_CEILING": str(self.ceiling),
            "COMPANION_WAIT_CEILING_S": str(WAIT_CEILING_S),
            "COMPANION_HOLD_S": str(HOLD_S),
            "COMPANION_TURN_BUDGET_S": str(TURN_BUDGET_S),
            "COMPANION_BREAKER_COOLDOWN_S": "2",
        }

    def _format_routing(self) -> str:
        lanes = [
            f"""[lanes.{lane}]
adapter = "{ADAPTERS[lane]}"
base_url = "{self.programs[f"provider-{lane}"].said}"
model = "rehearsal-{lane}"
failure_domain = "{lane}"
region = "here"
context_tokens = 32000
max_in_flight = {LANE_TAKES}
connect_ms = 1000
first_word_ms = 3000
idle_ms = 4000
"""
            for lane in PROVIDERS
        ]
        first, second = PROVIDERS
        chains = {
            "normal": [first, second],
            "swapped": [second, first],
            "first_only": [first],
            "second_only": [second],
        }
        presets = [f"[presets.{name}]\nchain = {chain!r}\n" for name, chain in chains.items()]
        return "\n".join([*lanes, *presets]).replace("'", '"')

    async def _find_process(self, pid: int) -> str | None:
        while True:
            try:
                found = await in_thread(
                    self.database.rows,
                    "SELECT id FROM companion_process WHERE pid = %s ORDER BY started_at DESC LIMIT 1",
                    (pid,),
                )
            except psycopg.Error:
                found = []
            if found:
                return str(found[0]["id"])
            await asyncio.sleep(IDENTIFY_EVERY_S)

    # Its end.

    async def end_programs(self) -> None:
        """End the programs in order, each by itself."""
        order = [*self.webs, "worker", *(f"provider-{lane}" for lane in PROVIDERS)]
        running = [self.programs[name] for name in order if name in self.programs]
        await asyncio.gather(*(program.end() for program in running if program.name.startswith("web")))
        await asyncio.gather(*(program.end() for program in running if not program.name.startswith("web")))
        for proxy in self.proxies:
            await proxy.stop()

    async def end_servers(self) -> None:
        await in_thread(self.valkey.stop)
        await in_thread(self.database.stop)


@asynccontextmanager
async def open_service(
    folder: Path,
    children: Children,
    recorder: Recorder,
    *,
    processes: int,
    ceiling: int,
    migrate: Callable[[], Awaitable[None]],
) -> AsyncIterator[RunService]:
    """Start a service under this folder; everything has ended on exit. Raises ChildFailed, CannotStart."""
    service = RunService(
        folder=folder,
        children=children,
        recorder=recorder,
        database=RunDatabase(folder),
        valkey=EmbeddedValkey(folder / "valkey"),
        ceiling=ceiling,
    )
    try:
        await service.start(processes=processes, migrate=migrate)
        yield service
    finally:
        await service.end_programs()
        await service.end_servers()
