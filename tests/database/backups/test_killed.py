"""A drill that is killed, lost or interrupted: the next run clears its leftovers, and nothing else (D2)."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring.scratch import compute_lock_key
from ops.backups.run.run_folder import Marker
from ops.stack.postgres import EmbeddedPostgres
from tests.conftest import STATE
from tests.database.backups.conftest import SAMPLE, RunDrill
from tests.database.backups.drill_server import Server
from tests.prefork import prefork
from tests.processes import ROOT

ON_THE_SAME_SERVER = [
    "snapshot",
    "dump and row sums",
    "dump and row sums+",
    "create",
    "restore",
    "restore+",
    "analyze",
    "row sums of the copy",
    "compare",
    "drop",
]
BEFORE_AND_WITH_A_COPY = ["dump and row sums+", "restore", "restore+", "drop"]
PRIVATELY = ["private server+", "restore+"]
EVERY_PHASE_PRIVATELY = ["private server", "private server+", *ON_THE_SAME_SERVER]
LONG = (pytest.mark.long, pytest.mark.timeout(300))
NOT_OURS = {"restore_drill_plain", "restore_drill_elsewhere", "restore_drill_alive", "restorexdrill_other"}


def kill_drill(server: Server, state: Path, *, where: str, phase: str, work: Path | None = None) -> None:
    """A drill that dies in this phase."""
    command = [
        "-m",
        "tests.database.backups.killed_drill",
        server.url_of("sample"),
        str(state),
        where,
        phase,
        *([str(work)] if work else []),
    ]
    done = prefork.run(command, timeout_s=60)
    assert done.returncode == -signal.SIGKILL, f"{phase}: {done.stdout[-900:]} {done.stderr}"


@pytest.fixture
def strangers(server: Server) -> Iterator[None]:
    """Databases that look like leftovers and are not: no marker, another source's, one whose run lives."""
    for name in NOT_OURS:
        server.create(name)
    marked = {
        "restore_drill_elsewhere": Marker(run="a", source="another/db", scratch="restore_drill_elsewhere"),
        "restore_drill_alive": Marker(
            run="b", source=read_source_name(server), scratch="restore_drill_alive"
        ),
    }
    for name, marker in marked.items():
        server.load("postgres", f"COMMENT ON DATABASE {name} IS '{marker.to_json()}'")
    with server.connected("postgres") as living:
        living.execute("SELECT pg_advisory_lock(%s)", [compute_lock_key("restore_drill_alive")])
        yield
    for name in NOT_OURS:
        server.drop(name)


def read_source_name(server: Server) -> str:
    """How a drill names `sample`."""
    return str(server.one("sample", "SELECT system_identifier || '/sample' FROM pg_control_system()"))


def list_run_folders(state: Path) -> list[Path]:
    """The runs' folders."""
    return sorted((state / "drill-work").glob("restore_drill_*"))


def list_processes_in(folder: Path) -> list[int]:
    """Processes of a private server below a folder."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        if any(str(folder) in part for part in process.info["cmdline"] or ()):
            found.append(process.info["pid"])
    return found


@pytest.mark.parametrize("phases", [BEFORE_AND_WITH_A_COPY, pytest.param(ON_THE_SAME_SERVER, marks=LONG)])
def test_each_run_on_the_same_server_clears_what_a_killed_one_left_and_nothing_else(
    server: Server, drill: RunDrill, state: Path, strangers: None, phases: list[str]
) -> None:
    before = server.databases()

    for phase in phases:
        kill_drill(server, state, where="same server", phase=phase)
        # The one before it is cleared, so no more than one run's leftovers are ever there.
        assert len(list_run_folders(state)) == 1, phase
        assert len(server.databases() - before) <= 1, phase
    report = drill()

    assert report.verdict == DrillVerdict.PROVED, report.to_text()
    assert len(report.cleaned) == 2, report.cleaned
    assert len(report.left_alone) == 3, report.left_alone
    assert server.databases() == before
    assert list_run_folders(state) == []


def test_a_database_created_and_not_yet_marked_is_cleared_too(
    server: Server, drill: RunDrill, state: Path
) -> None:
    kill_drill(server, state, where="same server", phase="restore")
    (left,) = server.databases() & {folder.name for folder in list_run_folders(state)}
    server.load("postgres", f"COMMENT ON DATABASE {left} IS NULL")

    report = drill()

    assert f"database {left}" in report.cleaned
    assert left not in server.databases()


def list_scratch_databases(server: Server) -> set[str]:
    """The scratch databases of drills."""
    return {name for name in server.databases() if name.startswith("restore_drill_")}


def list_notes(state: Path) -> list[Path]:
    """Where runs that are not over, or were killed, say that they work."""
    return list((state / "drill-runs").glob("*"))


@pytest.mark.parametrize(
    "way",
    [
        "a fresh dump",
        *(pytest.param(way, marks=pytest.mark.long) for way in ("a file", "another state folder")),
    ],
)
def test_what_a_killed_run_left_on_the_same_server_is_cleared_by_a_drill_that_works_elsewhere(
    server: Server, drill: RunDrill, state: Path, tmp_path: Path, way: str
) -> None:
    kept = Path(drill(keep_dump=True).kept_dump) if way == "a file" else None
    kill_drill(server, state, where="same server", phase="restore")
    (left,) = list_scratch_databases(server)

    if kept:
        report = drill(source=None, archive=kept, where="private server")
    elif way == "a fresh dump":
        report = drill(where="private server")
    else:
        report = drill(where="private server", state=tmp_path / "another")

    assert report.verdict == DrillVerdict.PROVED, report.to_text()
    assert f"database {left}" in report.cleaned
    assert list_scratch_databases(server) == set()
    assert way == "another state folder" or list_notes(state) == []


def test_what_a_killed_run_left_in_another_work_folder_is_cleared_by_one_with_the_usual_folder(
    server: Server, drill: RunDrill, state: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    kill_drill(server, state, where="private server", phase="restore+", work=elsewhere)
    (left,) = elsewhere.iterdir()
    assert list_processes_in(left)

    report = drill(where="private server")

    assert report.verdict == DrillVerdict.PROVED, report.to_text()
    assert report.cleaned == (f"folder {left.name}",)
    assert (list_processes_in(left), list(elsewhere.iterdir()), list_notes(state)) == ([], [], [])


def test_a_copy_that_may_still_be_on_a_server_which_cannot_be_looked_at_is_no_proof(
    drill: RunDrill, state: Path
) -> None:
    postgres = EmbeddedPostgres(STATE / "drill-away", settings={"fsync": "off"})
    try:
        away = Server(postgres.start())
        away.drop("sample")
        away.load("postgres", "DROP ROLE IF EXISTS sample_owner, sample_reader")
        away.create("sample")
        away.load("sample", SAMPLE.read_text())
        kill_drill(away, state, where="same server", phase="restore")
        (left,) = list_scratch_databases(away)
        (note,) = list_notes(state)
        postgres.stop()

        unknown = drill(where="private server")
        postgres.start()
        away.load("postgres", f"ALTER DATABASE {left} OWNER TO sample_owner")
        refused = drill(where="private server")
        away.load("postgres", f"ALTER DATABASE {left} OWNER TO companion")
        cleared = drill(where="private server")

        assert unknown.verdict == refused.verdict == DrillVerdict.LEFT_SOMETHING_BEHIND
        assert "cannot be searched" in unknown.left_behind[0]
        assert unknown.left_behind[0].endswith(f"remove {note}")
        assert refused.left_behind == (f"database {left}: another role owns it",)
        assert (cleared.verdict, cleared.cleaned) == (DrillVerdict.PROVED, (f"database {left}",))
        assert (list_scratch_databases(away), list_notes(state)) == (set(), [])
    finally:
        postgres.stop("immediate")


@pytest.mark.parametrize("phases", [PRIVATELY, pytest.param(EVERY_PHASE_PRIVATELY, marks=LONG)])
def test_a_private_server_of_a_killed_run_is_ended_by_the_next(
    server: Server, drill: RunDrill, state: Path, phases: list[str]
) -> None:
    for phase in phases:
        kill_drill(server, state, where="private server", phase=phase)
        (left,) = list_run_folders(state)
    stranger = state / "drill-work" / "restore_drill_stranger"
    stranger.mkdir()
    (stranger / "another file").touch()
    assert list_processes_in(left)

    report = drill(where="private server")

    assert report.verdict == DrillVerdict.PROVED, report.to_text()
    assert report.left_alone == ("folder restore_drill_stranger: it has no marker of a drill",)
    assert list_processes_in(left) == []
    assert list_run_folders(state) == [stranger]


@pytest.mark.parametrize(
    "phase",
    [
        "private server",
        "restore",
        *(
            pytest.param(phase, marks=pytest.mark.long)
            for phase in ("dump and row sums", "row sums of the copy")
        ),
    ],
)
def test_a_signal_ends_a_run_in_order(server: Server, state: Path, phase: str) -> None:
    assert signal_drill(server, state, phase, where="private server") == 2
    assert list_run_folders(state) == []


def signal_drill(server: Server, state: Path, phase: str, *, where: str) -> int:
    """The exit code of a drill that gets SIGTERM in a phase."""
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from ops.backups.connecting.address import Address\n"
        "from ops.backups.drill import Drill\n"
        "from ops.backups.restoring.order import DrillOrder\n"
        "from ops.backups.run.monitor import RunMonitor\n"
        "url, state, where, phase = sys.argv[1:5]\n"
        "def announce(begun):\n"
        "    if begun == phase:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "monitor = RunMonitor(announce=announce)\n"
        "order = DrillOrder(source=Address.parse(url, setting='X'), state=Path(state), where=where, key='k')\n"
        "with monitor.listen_for_signals():\n"
        "    report = Drill(order, monitor).run()\n"
        "assert 'signal' in report.stopped, report.to_text()\n"
        "sys.exit(report.verdict.exit_code)\n"
    )
    command = [sys.executable, "-c", program, server.url_of("sample"), str(state), where, phase]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    return done.returncode


class StopsServer:
    """Shows nothing, and stops a server in the middle of one phase."""

    def __init__(self, postgres: EmbeddedPostgres, phase: str) -> None:
        self._postgres = postgres
        self._phase = phase
        self._is_now = False

    def begin_phase(self, phase: str, *, of_bytes: int | None) -> None:
        """Is it this one?"""
        self._is_now = phase == self._phase

    def show(self, *, done_bytes: int, rows: int) -> None:
        """Strike, once."""
        if self._is_now:
            self._is_now = False
            self._postgres.stop("immediate")

    def end_phase(self) -> None:
        """Too late."""


@pytest.mark.parametrize(
    "when", ["while rows are summed", pytest.param("before the dump", marks=pytest.mark.long)]
)
def test_a_source_lost_midway_ends_it_and_nothing_is_left(drill: RunDrill, state: Path, when: str) -> None:
    postgres = EmbeddedPostgres(STATE / "drill-lost", settings={"fsync": "off"})
    lost = Server(postgres.start())
    lost.load("postgres", "DROP ROLE IF EXISTS sample_owner, sample_reader")
    lost.create("lost")
    lost.load("lost", SAMPLE.read_text())

    def lose(phase: str) -> None:
        if when == "before the dump" and phase == "dump and row sums":
            postgres.stop("immediate")

    show = StopsServer(postgres, "dump and row sums") if when == "while rows are summed" else None
    try:
        report = drill(source=lost.address("lost"), where="private server", announce=lose, show=show)
        postgres.start()
        lost.drop("lost")
    finally:
        postgres.stop("immediate")

    assert report.verdict == DrillVerdict.COULD_NOT_RUN, report.to_text()
    assert "broke" in report.stopped or "cannot be reached" in report.stopped
    assert list_run_folders(state) == []


def test_a_scratch_that_others_hold_open_is_said_to_be_left_behind(
    server: Server, drill: RunDrill, state: Path
) -> None:
    server.load(
        "postgres",
        "DROP ROLE IF EXISTS weak; CREATE ROLE weak LOGIN CREATEDB BYPASSRLS; GRANT pg_read_all_data TO weak",
    )
    server.create("plain")
    server.load("plain", "CREATE TABLE django_migrations (id int, app text, name text)")
    server.load("plain", "INSERT INTO django_migrations VALUES (1, 'a', '1')")
    server.load("plain", "CREATE TABLE person AS SELECT 1 AS id")
    server.load("postgres", "ALTER DATABASE plain OWNER TO weak")
    held: list[psycopg.Connection[object]] = []

    def hold(phase: str) -> None:
        if phase == "compare":
            (name,) = [name for name in server.databases() if name.startswith("restore_drill_")]
            # A superuser's session, which the role that drills may not end.
            held.append(psycopg.connect(server.url_of(name), application_name="a curious person"))

    try:
        report = drill(source=server.address("plain", user="weak"), announce=hold, no_owner=True)
        (left,) = [name for name in server.databases() if name.startswith("restore_drill_")]
    finally:
        for connection in held:
            connection.close()

    assert report.verdict == DrillVerdict.LEFT_SOMETHING_BEHIND, report.to_text()
    assert report.verdict.exit_code == 4
    assert left in report.left_behind[0] and "a curious person" in report.left_behind[0]
    again = drill(source=server.address("plain", user="weak"), no_owner=True)
    assert again.verdict == DrillVerdict.PROVED, again.to_text()
    assert again.cleaned == (f"database {left}",)
    server.drop("plain")


def test_a_run_that_lives_is_not_disturbed_by_another(server: Server, drill: RunDrill, state: Path) -> None:
    inner = []

    def meanwhile(phase: str) -> None:
        if phase == "compare":
            other = threading.Thread(target=lambda: inner.append(drill()))
            other.start()
            other.join(60)

    outer = drill(announce=meanwhile)

    assert [report.verdict for report in (outer, *inner)] == [DrillVerdict.PROVED] * 2
    assert len(inner[0].left_alone) == 2, inner[0].left_alone
