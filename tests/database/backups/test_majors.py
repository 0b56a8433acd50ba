"""Every major of PostgreSQL whose programs are on this machine: drilled by its own tools, chosen by the drill (D1)."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ops.backups.backup import BackupOrder, back_up
from ops.backups.programs.private_server import PrivateServer
from ops.backups.programs.tools import Tools, find_tools, list_folders
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.monitor import RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder
from tests.conftest import STATE
from tests.database.backups.conftest import SAMPLE, RunDrill
from tests.database.backups.drill_server import KEY, SETTING, Server

KNOWN = range(15, 19)


def find_installed() -> list[Tools]:
    """Tools of each major that is here: 18 comes with the environment, others with the system."""
    found = []
    for major in KNOWN:
        try:
            found.append(find_tools(major, list_folders(), server=True))
        except CouldNotRun:
            continue
    return found


# Every other drill of these tests is one of the newest major: here it is one of many in the long run.
@pytest.fixture(
    params=[
        pytest.param(
            tools,
            id=f"PostgreSQL_{tools.major}",
            marks=[pytest.mark.long] if tools.major == KNOWN[-1] else [],
        )
        for tools in find_installed()
    ]
)
def tools(request: pytest.FixtureRequest) -> Tools:
    """One major."""
    chosen: Tools = request.param
    return chosen


@pytest.fixture
def source(tools: Tools) -> Iterator[Server]:
    """A live server of that major with something of everything in its first database."""
    with ExitStack() as stack:
        folder = RunFolder.create(STATE / "majors", Marker(run=str(tools.major), source="", scratch=""))
        stack.callback(folder.remove)
        live = PrivateServer(folder, tools)
        stack.callback(live.stop)
        live.start(lambda: None)
        words = live.address.keywords
        server = Server(f"postgresql://{words['user']}@:{words['port']}/postgres?host={words['host']}")
        server.create("live")
        statements = SAMPLE.read_text()
        server.load("live", remove_trigrams(statements) if tools.major != 18 else statements)
        yield server


def remove_trigrams(statements: str) -> str:
    """For a system server that may have been installed without its contributed extensions."""
    return "\n".join(line for line in statements.splitlines() if "trgm" not in line)


def test_a_drill_and_a_backup_use_tools_of_the_servers_major(
    tools: Tools, source: Server, drill: RunDrill, state: Path
) -> None:
    fresh = drill(source=source.address("live"), where="private server")
    made = back_up(
        BackupOrder(source=source.address("live"), into=state / "backups", setting=SETTING, key=KEY),
        RunMonitor(),
    )
    from_file = drill(source=None, archive=made.path, where="private server")

    for report in (fresh, from_file):
        assert (report.verdict, report.differences) == (DrillVerdict.PROVED, ()), report.to_text()
        assert report.tools.split(".")[0] == report.server.split(".")[0] == str(tools.major)


def test_the_tests_have_the_major_that_comes_with_the_environment() -> None:
    assert 18 in [tools.major for tools in find_installed()]


def test_a_target_of_another_major_is_refused(
    server: Server, source: Server, drill: RunDrill, tools: Tools
) -> None:
    report = drill(where="target", target=source.address("postgres"), no_owner=True)

    if tools.major == 18:
        assert report.verdict == DrillVerdict.PROVED, report.to_text()
    else:
        assert report.verdict == DrillVerdict.COULD_NOT_RUN
        assert f"The scratch server is PostgreSQL {tools.major}" in report.stopped
