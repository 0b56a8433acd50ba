"""Shared fixtures: a real PostgreSQL, a real rehearsal provider, real web processes."""

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["tests.loopback_only"]

# Thousands of tests are collected and kept: the collector would go through all of them again and again.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, and leave what was collected before in peace."""
    gc.enable()
    gc.freeze()


# No deadline for an example: its duration depends on the load of the machine.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

# Django reads its settings when it is first imported, so the addresses must be known before anything starts.
STATE = Path(tempfile.mkdtemp(prefix="companion-tests-"))
STATE.chmod(0o755)
# Reports that tests write outlive them: they stand where those of the service do.
# Under a name of their own, because workers of one run inherit the settings below.
STATE_OF_SERVICE = os.environ.get("COMPANION_STATE_DIR") or str(Path(__file__).parents[1] / "var")
REPORTS = Path(os.environ.setdefault("TESTS_STATE_DIR", STATE_OF_SERVICE)) / "reports"
atexit.register(shutil.rmtree, STATE, ignore_errors=True)

from ops.stack.postgres import EmbeddedPostgres  # noqa: E402

# Tests crash this server, never the machine below it: what it has written need not reach the disk.
POSTGRES = EmbeddedPostgres(STATE / "postgres", settings={"fsync": "off"})
for name in [name for name in os.environ if name.startswith("COMPANION_")]:
    del os.environ[name]
os.environ.update(
    {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "SECRET_KEY": "a key for tests, and for nothing else",
        "DATABASE_URL": POSTGRES.url,
        "COMPANION_STATE_DIR": str(STATE),
        "COMPANION_REHEARSED": "yes",
        "OPS_TOKEN": "a token for tests",
    }
)

import django  # noqa: E402

django.setup()

from django.db.backends.signals import connection_created  # noqa: E402

from tests.lanes import Lanes, build_lanes  # noqa: E402
from tests.people import People, in_database, refuse_main_thread  # noqa: E402
from tests.processes import Rehearsal, Web, start_rehearsal, start_web  # noqa: E402

connection_created.connect(refuse_main_thread)


@pytest.fixture(scope="session")
def database() -> Iterator[EmbeddedPostgres]:
    """A private PostgreSQL with all migrations applied."""
    from django.core.management import call_command
    from django.db import connections

    POSTGRES.start()
    in_database(lambda: call_command("migrate", verbosity=0))
    yield POSTGRES
    in_database(connections.close_all)
    for connection in connections.all():
        connection.close_pool()  # type: ignore[attr-defined]
    POSTGRES.stop()


@pytest.fixture(scope="session")
def reports() -> Path:
    """Where reports stay that the tests write: `reports/` under the state folder, by default `var/`."""
    return REPORTS


@pytest.fixture(scope="session")
def _rehearsal() -> Iterator[Rehearsal]:
    with start_rehearsal() as provider:
        yield provider


@pytest.fixture
def rehearsal(_rehearsal: Rehearsal) -> Rehearsal:
    """The shared rehearsal provider process, cleared of other tests' faults."""
    _rehearsal.clear()
    return _rehearsal


@pytest.fixture(scope="session")
def _service(database: EmbeddedPostgres, _rehearsal: Rehearsal) -> Iterator[Web]:
    with start_web(_rehearsal) as web:
        yield web


@pytest.fixture
def service(_service: Web, rehearsal: Rehearsal) -> Iterator[Web]:
    """The shared web process, with a provider cleared of faults."""
    yield _service
    rehearsal.clear()


@pytest.fixture(scope="session")
def _neighbour(_service: Web, _rehearsal: Rehearsal) -> Iterator[Web]:
    with start_web(_rehearsal) as web:
        yield web


@pytest.fixture
def neighbour(service: Web, _neighbour: Web) -> Web:
    """A second web process over the same database."""
    return _neighbour


@pytest.fixture
def another_web(database: EmbeddedPostgres, rehearsal: Rehearsal) -> Iterator[Callable[..., Web]]:
    """Start web processes with the given settings; they end with the test."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(start_web(rehearsal, **settings))
    rehearsal.clear()


@pytest.fixture
def people(database: EmbeddedPostgres) -> People:
    """The cast, new for each test: Rosa, Otto, Sam, Ines."""
    return People()


@pytest.fixture(scope="session")
def _backup() -> Iterator[Rehearsal]:
    with start_rehearsal() as provider:
        yield provider


@pytest.fixture
def lanes(
    tmp_path: Path, database: EmbeddedPostgres, rehearsal: Rehearsal, _backup: Rehearsal
) -> Iterator[Lanes]:
    """Two lanes that belong to this test, each with its own provider."""
    with build_lanes(tmp_path, rehearsal, _backup) as made:
        yield made
