"""A server of the drill's own tests, a database with one of everything, and copies of it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ops.backups.backup import BackupOrder, BackupResult, back_up
from ops.backups.connecting.address import Address
from ops.backups.drill import Drill
from ops.backups.reporting.report import Report
from ops.backups.restoring.order import DrillOrder, RunEnvironment
from ops.backups.run.monitor import ProgressDisplay, RunMonitor
from ops.stack.postgres import EmbeddedPostgres
from tests.conftest import STATE
from tests.database.backups.drill_server import KEY, Server
from tests.database.backups.replicas import make_replica
from tests.folders import allow_traversal

RunDrill = Callable[..., Report]
MakeBackup = Callable[..., BackupResult]
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SAMPLE = Path(__file__).with_name("sample.sql")


@pytest.fixture(scope="session")
def _postgres() -> Iterator[EmbeddedPostgres]:
    postgres = EmbeddedPostgres(STATE / "drill", settings={"fsync": "off"})
    postgres.start()
    yield postgres
    postgres.stop()


@pytest.fixture(scope="session")
def server(_postgres: EmbeddedPostgres) -> Server:
    """A server with the database `sample`, and nothing else of ours."""
    server = Server(_postgres.url)
    server.create("sample")
    server.load("sample", SAMPLE.read_text())
    return server


@pytest.fixture
def other_server(tmp_path: Path) -> Iterator[Server]:
    """Another cluster."""
    postgres = EmbeddedPostgres(STATE / "drill-other", settings={"fsync": "off"})
    yield Server(postgres.start())
    postgres.stop("immediate")


@pytest.fixture
def replica(_postgres: EmbeddedPostgres, server: Server) -> Iterator[EmbeddedPostgres]:
    """A streaming replica of the server."""
    folder = STATE / "drill-replica"
    # What is left of an earlier one may have been promoted, and follows no more.
    shutil.rmtree(folder, ignore_errors=True)
    postgres = make_replica(_postgres, folder)
    postgres.start()
    yield postgres
    postgres.stop("immediate")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder, in a place that every account may pass through."""
    return allow_traversal(tmp_path)


@pytest.fixture
def other_disk() -> Iterator[Path]:
    """A folder that every account may pass through, on another disk than temporary ones."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def drill(server: Server, state: Path) -> RunDrill:
    """Run one drill of `sample`, or of what `order` says instead."""

    def run(
        *,
        environment: RunEnvironment | None = None,
        announce: Callable[[str], None] = lambda _phase: None,
        show: ProgressDisplay | None = None,
        monitor: RunMonitor | None = None,
        **order: object,
    ) -> Report:
        asked = {
            "source": server.address("sample"),
            "state": state,
            "where": "same server",
            "key": KEY,
        } | order
        monitor = monitor or RunMonitor(show, announce=announce)
        return Drill(DrillOrder(**asked), monitor, environment).run()  # type: ignore[arg-type]

    return run


@pytest.fixture
def make(server: Server, state: Path) -> MakeBackup:
    """Make a backup; `hours` after noon, so that names differ."""

    def made(
        *, hours: int = 0, database: str = "sample", monitor: RunMonitor | None = None, **order: object
    ) -> BackupResult:
        asked = BackupOrder(source=server.address(database), into=state / "backups", key=KEY)
        environment = RunEnvironment(now=lambda: NOON + timedelta(hours=hours))
        return back_up(replace(asked, **order), monitor or RunMonitor(), environment)  # type: ignore[arg-type]

    return made


def parse_address(url: str) -> Address:
    """An address as the command reads it."""
    return Address.parse(url, setting="DIRECT_DATABASE_URL")
