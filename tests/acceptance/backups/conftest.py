"""A live server, and a state folder beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.stack.postgres import EmbeddedPostgres
from tests.conftest import STATE
from tests.database.backups.conftest import SAMPLE
from tests.database.backups.drill_server import Server
from tests.folders import allow_traversal


@pytest.fixture(scope="session")
def live() -> Iterator[Server]:
    """A live server."""
    postgres = EmbeddedPostgres(STATE / "commanded", settings={"fsync": "off"})
    server = Server(postgres.start())
    server.create("live")
    server.load("live", SAMPLE.read_text())
    yield server
    postgres.stop()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder, in a place that every account may pass through."""
    return allow_traversal(tmp_path)
