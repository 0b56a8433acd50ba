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

from ops.backups.reporting.verdict import Verdict
from ops.backups.restoring.scratch import lock_key
from ops.backups.run.run_folder import Marker
from ops.stack.postgres import EmbeddedPostgres
from tests.conftest import STATE
from tests.database.backups.conftest import SAMPLE, Run
from tests.database.backups.copies import Server
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
PRIVATELY = ["private server", "private server+", "restore+", "drop"]
EVERY_PHASE_PRIVATELY = ["private server", "private server+", *ON_THE_SAME_SERVER]
NOT_OURS = {"restore_drill_plain", "restore_drill_elsewhere", "restore_drill_alive", "restorexdrill_other"}


def killed(server: Server, state: Path, *, where: str, phase: str, work: Path | None = None) -> None:
    """A drill that dies in this phase."""
    command = [
        sys.executable,
        "-m",
        "tests.database.backups.dying",
        server.url_of("sample"),
        str(state),
        where,
        phase,
        *([str(work)] if work else []),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, f"{phase}: {done.stdout[-900:]} {done.stderr}"


@pytest.fixture
def strangers(server: Server) -> Iterator[None]:
    """Databases that look like leftovers and are not: no marker, another source's, one whose run lives."""
    for name in NOT_OURS:
        server.create(name)
    marked = {
        "restore_drill_elsewhere": Marker(run="a", source="another/db", scratch="restore_drill_elsewhere"),
        "restore_drill_alive": Marker(run="b", source=source_of(server), scratch="restore_drill_alive"),
    }
    for name, marker in marked.items():
        server.load("postgres", f"COMMENT ON DATABASE {name} IS '{marker.text()}'")
    with server.connected("postgres") as living:
        living.execute("SELECT pg_advisory_lock(%s)", [lock_key("restore_drill_alive")])
        yield
    for name in NOT_OURS:
        server.drop(name)


def source_of(server: Server) -> str:
    """How a drill names `sample`."""
    return str(server.one("sample", "SELECT system_identifier || '/sample' FROM pg_control_system()"))


def folders(state: Path) -> list[Path]:
    """The runs' folders."""
    return sorted((state / "drill-work").glob("restore_drill_*"))


def working_in(folder: Path) -> list[int]:
    """Processes of a private server below a folder."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        if any(str(folder) in part for part in process.info["cmdline"] or ()):
            found.append(process.info["pid"])
    return found


def test_each_run_on_the_same_server_clears_what_a_killed_one_left_and_nothing_else(
    server: Server, drill: Run, state: Path, strangers: None
) -> None:
    before = server.databases()

    for phase in ON_THE_SAME_SERVER:
        killed(server, state, where="same server", phase=phase)
        # The one before it is cleared, so no more than one run's leftovers are ever there.
        assert len(folders(state)) == 1, phase
        assert len(server.databases() - before) <= 1, phase
    report = drill()

    assert report.verdict == Verdict.PROVED, report.as_text()
    assert len(report.cleaned) == 2, report.cleaned
    assert len(report.left_alone) == 3, report.left_alone
    assert server.databases() == before
    assert folders(state) == []


def test_a_database_created_and_not_yet_marked_is_cleared_too(
    server: Server, drill: Run, state: Path
) -> None:
    killed(server, state, where="same server", phase="restore")
    (left,) = server.databases() & {folder.name for folder in folders(state)}
    server.load("postgres", f"COMMENT ON DATABASE {left} IS NULL")

    report = drill()

    assert f"database {left}" in report.cleaned
    assert left not in server.databases()


def scratches(server: Server) -> set[str]:
    """The scratch databases of drills."""
    return {name for name in server.databases() if name.startswith("restore_drill_")}


def notes(state: Path) -> list[Path]:
    """Where runs that are not over, or were killed, say that they work."""
    return list((state / "drill-runs").glob("*"))


@pytest.mark.parametrize("way", ["a fresh dump", "a file", "another state folder"])
def test_what_a_killed_run_left_on_the_same_server_is_cleared_by_a_drill_that_works_elsewhere(
    server: Server, drill: Run, state: Path, tmp_path: Path, way: str
) -> None:
    kept = Path(drill(keep_dump=True).kept_dump)
    killed(server, state, where="same server", phase="restore")
    (left,) = scratches(server)

    if way == "a file":
        report = drill(source=None, archive=kept, where="private server")
    elif way == "a fresh dump":
        report = drill(where="private server")
    else:
        report = drill(where="private server", state=tmp_path / "another")

    assert report.verdict == Verdict.PROVED, report.as_text()
    assert f"database {left}" in report.cleaned
    assert scratches(server) == set()
    assert way == "another state folder" or notes(state) == []


def test_what_a_killed_run_left_in_another_work_folder_is_cleared_by_one_with_the_usual_folder(
    server: Server, drill: Run, state: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    killed(server, state, where="private server", phase="restore+", work=elsewhere)
    (left,) = elsewhere.iterdir()
    assert working_in(left)

    report = drill(where="private server")

    assert report.verdict == Verdict.PROVED, report.as_text()
    assert report.cleaned == (f"folder {left.name}",)
    assert (working_in(left), list(elsewhere.iterdir()), notes(state)) == ([], [], [])


def test_a_copy_that_may_still_be_on_a_server_which_cannot_be_looked_at_is_no_proof(
    drill: Run, state: Path
) -> None:
    postgres = EmbeddedPostgres(STATE / "drill-away", settings={"fsync": "off"})
    try:
        away = Server(postgres.start())
        away.drop("sample")
        away.load("postgres", "DROP ROLE IF EXISTS sample_owner, sample_reader")
        away.create("sample")
        away.load("sample", SAMPLE.read_text())
        killed(away, state, where="same server", phase="restore")
        (left,) = scratches(away)
        (note,) = notes(state)
        postgres.stop()

        unknown = drill(where="private server")
        postgres.start()
        away.load("postgres", f"ALTER DATABASE {left} OWNER TO sample_owner")
        refused = drill(where="private server")
        away.load("postgres", f"ALTER DATABASE {left} OWNER TO companion")
        cleared = drill(where="private server")

        assert unknown.verdict == refused.verdict == Verdict.LEFT_SOMETHING_BEHIND
        assert "cannot be looked for" in unknown.left_behind[0]
        assert unknown.left_behind[0].endswith(f"remove {note}")
        assert refused.left_behind == (f"database {left}: another role owns it",)
        assert (cleared.verdict, cleared.cleaned) == (Verdict.PROVED, (f"database {left}",))
        assert (scratches(away), notes(state)) == (set(), [])
    finally:
        postgres.stop("immediate")


@pytest.mark.parametrize("phases", [PRIVATELY, pytest.param(EVERY_PHASE_PRIVATELY, marks=pytest.mark.long)])
def test_a_private_server_of_a_killed_run_is_ended_by_the_next(
    server: Server, drill: Run, state: Path, phases: list[str]
) -> None:
    for phase in phases:
        killed(server, state, where="private server", phase=phase)
        (left,) = folders(state)
    stranger = state / "drill-work" / "restore_drill_stranger"
    stranger.mkdir()
    (stranger / "somebody's").touch()
    assert working_in(left)

    report = drill(where="private server")

    assert report.verdict == Verdict.PROVED, report.as_text()
    assert report.left_alone == ("folder restore_drill_stranger: it carries no marker of a drill",)
    assert working_in(left) == []
    assert folders(state) == [stranger]


@pytest.mark.parametrize("phase", ["private server", "dump and row sums", "restore", "row sums of the copy"])
def test_a_signal_ends_a_run_in_order(server: Server, state: Path, phase: str) -> None:
    assert stopped_in(server, state, phase, where="private server") == 2
    assert folders(state) == []


def stopped_in(server: Server, state: Path, phase: str, *, where: str) -> int:
    """The exit code of a drill that gets SIGTERM in a phase."""
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from ops.backups.connecting.address import Address\n"
        "from ops.backups.drill import Drill\n"
        "from ops.backups.restoring.order import Order\n"
        "from ops.backups.run.watch import Watch\n"
        "url, state, where, phase = sys.argv[1:5]\n"
        "def announce(begun):\n"
        "    if begun == phase:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "watch = Watch(announce=announce)\n"
        "order = Order(source=Address.of(url, setting='X'), state=Path(state), where=where, key='k')\n"
        "with watch.listening():\n"
        "    report = Drill(order, watch).run()\n"
        "assert 'signal' in report.stopped, report.as_text()\n"
        "sys.exit(report.verdict.exit_code)\n"
    )
    command = [sys.executable, "-c", program, server.url_of("sample"), str(state), where, phase]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    return done.returncode


class Loses:
    """Shows nothing, and stops a server in the middle of one phase."""

    def __init__(self, postgres: EmbeddedPostgres, phase: str) -> None:
        self._postgres = postgres
        self._phase = phase
        self._is_now = False

    def begin(self, phase: str, *, of_bytes: int | None) -> None:
        """Is it this one?"""
        self._is_now = phase == self._phase

    def at(self, *, done_bytes: int, rows: int) -> None:
        """Strike, once."""
        if self._is_now:
            self._is_now = False
            self._postgres.stop("immediate")

    def end(self) -> None:
        """Too late."""


@pytest.mark.parametrize("when", ["before the dump", "while rows are summed"])
def test_a_source_lost_midway_ends_it_and_nothing_is_left(drill: Run, state: Path, when: str) -> None:
    postgres = EmbeddedPostgres(STATE / "drill-lost", settings={"fsync": "off"})
    lost = Server(postgres.start())
    lost.load("postgres", "DROP ROLE IF EXISTS sample_owner, sample_reader")
    lost.create("lost")
    lost.load("lost", SAMPLE.read_text())

    def lose(phase: str) -> None:
        if when == "before the dump" and phase == "dump and row sums":
            postgres.stop("immediate")

    show = Loses(postgres, "dump and row sums") if when == "while rows are summed" else None
    try:
        report = drill(source=lost.address("lost"), where="private server", announce=lose, show=show)
        postgres.start()
        lost.drop("lost")
    finally:
        postgres.stop("immediate")

    assert report.verdict == Verdict.COULD_NOT_RUN, report.as_text()
    assert "broke" in report.stopped or "cannot be reached" in report.stopped
    assert folders(state) == []


def test_a_scratch_that_others_hold_open_is_said_to_be_left_behind(
    server: Server, drill: Run, state: Path
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

    assert report.verdict == Verdict.LEFT_SOMETHING_BEHIND, report.as_text()
    assert report.verdict.exit_code == 4
    assert left in report.left_behind[0] and "a curious person" in report.left_behind[0]
    again = drill(source=server.address("plain", user="weak"), no_owner=True)
    assert again.verdict == Verdict.PROVED, again.as_text()
    assert again.cleaned == (f"database {left}",)
    server.drop("plain")


def test_a_run_that_lives_is_not_disturbed_by_another(server: Server, drill: Run, state: Path) -> None:
    inner = []

    def meanwhile(phase: str) -> None:
        if phase == "compare":
            other = threading.Thread(target=lambda: inner.append(drill()))
            other.start()
            other.join(60)

    outer = drill(announce=meanwhile)

    assert [report.verdict for report in (outer, *inner)] == [Verdict.PROVED] * 2
    assert len(inner[0].left_alone) == 2, inner[0].left_alone
