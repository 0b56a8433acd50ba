"""What decides when a program is started again, in which order all of them end, and who belongs to whom."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ops.stack.process import Running, end, group
from ops.stack.roster import Roster, RosterEntry, end_in_order, read
from ops.stack.signals import StopRequested, stop_on_signals
from ops.stack.state import StateFolder
from ops.stack.supervise import ConfigurationRefused, Program, Supervisor, pause_before_restart
from tests.patience import wait_until

# Says "ready" once its handler stands, then notes when it was asked to end and ends.
POLITE = """
import pathlib, signal, sys, time
def note(*_):
    pathlib.Path(sys.argv[1]).write_text(str(time.monotonic()))
    sys.exit(0)
signal.signal(signal.SIGTERM, note)
print("ready", flush=True)
time.sleep(60)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(60)"])
time.sleep(60)
"""


class Programs:
    """Small Python programs that have said they are ready; none outlives its test."""

    def __init__(self) -> None:
        self.started: list[tuple[subprocess.Popen[str], Running]] = []

    def start(self, text: str, *arguments: str) -> subprocess.Popen[str]:
        program = subprocess.Popen(
            [sys.executable, "-c", text, *arguments], stdout=subprocess.PIPE, text=True, process_group=0
        )
        self.started.append((program, running(program)))
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        return program

    def end(self) -> None:
        for program, known in self.started:
            for left in group(known):
                left.kill()
            program.kill()
            program.wait()
            assert program.stdout is not None
            program.stdout.close()


@pytest.fixture
def programs() -> Iterator[Programs]:
    started = Programs()
    yield started
    started.end()


def running(program: subprocess.Popen[str]) -> Running:
    found = Running.of(program.pid)
    assert found is not None
    return found


def entry(program: subprocess.Popen[str], *, stage: int, grace_s: float = 5) -> RosterEntry:
    return RosterEntry(
        name=str(program.pid),
        pid=program.pid,
        created=running(program).created,
        stage=stage,
        signal=signal.SIGTERM,
        grace_s=grace_s,
    )


def test_the_first_death_costs_no_pause_and_later_ones_ever_more_up_to_a_limit() -> None:
    pauses = [pause_before_restart(failures) for failures in range(1, 12)]

    assert pauses[0] == 0
    assert pauses == sorted(pauses)
    assert pauses[1] < 1
    assert pauses[-1] == pauses[-2] == 15


def test_an_earlier_stage_has_ended_before_the_next_is_asked(programs: Programs, tmp_path: Path) -> None:
    first = programs.start(POLITE, str(tmp_path / "first"))
    second = programs.start(POLITE, str(tmp_path / "second"))

    end_in_order([entry(second, stage=2), entry(first, stage=1)])

    assert float((tmp_path / "first").read_text()) < float((tmp_path / "second").read_text())
    assert (first.wait(), second.wait()) == (0, 0)


def test_one_that_does_not_listen_is_killed_after_its_grace(programs: Programs) -> None:
    stubborn = programs.start(STUBBORN)

    end_in_order([entry(stubborn, stage=1, grace_s=0.2)])

    assert stubborn.wait() == -signal.SIGKILL


def test_the_children_of_a_program_end_with_it(programs: Programs) -> None:
    parent = programs.start(PARENT)
    child = psutil.Process(parent.pid).children()[0]

    assert end(running(parent), with_signal=signal.SIGTERM, grace_s=5)

    assert is_over(child)


def is_over(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_children_that_outlive_a_killed_parent_are_found_by_their_group(programs: Programs) -> None:
    parent = programs.start(PARENT)
    known, child = running(parent), psutil.Process(parent.pid).children()[0]
    parent.kill()
    parent.wait()

    assert [process.pid for process in group(known)] == [child.pid]


def test_a_reused_number_is_another_process(programs: Programs) -> None:
    stranger = programs.start(STUBBORN)
    once = Running(pid=stranger.pid, created=running(stranger).created - 3600)

    assert once.process() is None
    assert group(once) == []
    assert end(once, with_signal=signal.SIGKILL, grace_s=0)
    assert stranger.poll() is None


def test_the_roster_on_disk_is_what_runs_now(tmp_path: Path) -> None:
    roster = Roster(path=tmp_path / "children.json")
    one = RosterEntry(name="web", pid=11, created=1.5, stage=1, signal=15, grace_s=2.0)
    other = RosterEntry(name="worker", pid=12, created=2.5, stage=2, signal=15, grace_s=2.0)

    roster.add(one)
    roster.add(other)
    roster.drop("web")

    assert read(tmp_path / "children.json") == [other]


@pytest.mark.parametrize("content", [None, "", "{", "[1]", '[{"name": "web"}]'])
def test_an_invalid_roster_names_no_process(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "children.json"
    if content is not None:
        path.write_text(content)

    assert read(path) == []


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    state = StateFolder(tmp_path)
    said: list[str] = []
    with state.lock():
        supervised = Supervisor(
            state=state, say=said.append, environment=dict(os.environ), roster=Roster(path=state.children)
        )
        yield supervised
        supervised.end_everything()


def program(text: str) -> Program:
    return Program(name="p", command=(sys.executable, "-c", text), stage=1, grace_s=2)


def look_until(supervisor: Supervisor, happened: Callable[[], bool]) -> None:
    def look_again() -> bool:
        supervisor.look()
        return happened()

    wait_until(look_again, within_s=20)


def test_a_program_that_dies_is_started_again(supervisor: Supervisor) -> None:
    child = supervisor.start(program("import time; time.sleep(60)"))
    assert child.popen is not None
    first = child.popen.pid

    child.popen.kill()

    look_until(supervisor, lambda: getattr(child.popen, "pid", first) != first)


class Interrupted(Roster):
    """A roster that adds no process before Ctrl-C is pressed."""

    def add(self, entry: RosterEntry) -> None:
        signal.raise_signal(signal.SIGINT)
        super().add(entry)


def test_ctrl_c_between_the_start_of_a_program_and_its_place_on_the_roster_leaves_nothing_running(
    supervisor: Supervisor,
) -> None:
    supervisor.roster = Interrupted(path=supervisor.state.children)
    with stop_on_signals(lambda said: None), pytest.raises(StopRequested):
        supervisor.start(program("import time; time.sleep(60)"))
    popen = supervisor.children["p"].popen
    assert popen is not None

    began = time.monotonic()
    supervisor.end_everything()

    assert popen.returncode == -signal.SIGTERM
    assert time.monotonic() - began < 30


def test_one_that_dies_at_once_again_and_again_waits_longer_each_time(supervisor: Supervisor) -> None:
    child = supervisor.start(program("raise SystemExit(3)"))

    look_until(supervisor, lambda: child.failures == 3)

    assert child.again_at is not None
    assert child.again_at > time.monotonic()


def test_one_that_refuses_its_configuration_is_not_started_again(supervisor: Supervisor) -> None:
    supervisor.start(program("import sys; sys.stderr.write('mend this'); sys.exit(78)"))

    with pytest.raises(ConfigurationRefused, match=r"^mend this$"):
        look_until(supervisor, lambda: False)


def refusing(path: Path) -> Program:
    """Runs as long as this file is right, and refuses to start while it is not."""
    text = (
        "import pathlib, sys, time\n"
        f"if pathlib.Path({str(path)!r}).read_text() != 'right':\n"
        "    sys.stderr.write('mend this')\n"
        "    sys.exit(78)\n"
        "time.sleep(60)"
    )
    return program(text)


@pytest.fixture
def serving(supervisor: Supervisor, tmp_path: Path) -> Supervisor:
    """One that serves already, and looks at one configuration file."""
    supervisor.is_serving = True
    supervisor.configuration = lambda: frozenset({("file", 0, len((tmp_path / "file").read_text()))})
    return supervisor


def test_a_file_that_became_wrong_stops_only_the_program_that_has_to_read_it(
    serving: Supervisor, tmp_path: Path
) -> None:
    said: list[str] = []
    serving.say = said.append
    file = tmp_path / "file"
    file.write_text("right")
    other = serving.start(replace(program("import time; time.sleep(60)"), name="other"))
    child = serving.start(refusing(file))
    assert child.popen is not None and other.popen is not None
    file.write_text("typo")
    child.popen.kill()

    look_until(serving, lambda: serving.has_refused("p"))

    assert other.popen.poll() is None
    assert "mend this" in said[-1] and "Everything else goes on" in said[-1]


def test_it_is_started_again_as_soon_as_the_file_has_changed_and_says_no_refusal_twice(
    serving: Supervisor, tmp_path: Path
) -> None:
    said: list[str] = []
    serving.say = said.append
    file = tmp_path / "file"
    file.write_text("typo")
    child = serving.start(refusing(file))
    look_until(serving, lambda: serving.has_refused("p"))
    file.write_text("another typo")
    first = child.log_since
    look_until(serving, lambda: child.log_since > first and serving.has_refused("p"))

    file.write_text("right")
    look_until(serving, lambda: child.popen is not None and not serving.has_refused("p"))

    assert len(said) == 1
    assert child.popen is not None and child.popen.poll() is None


def test_without_a_change_a_refused_program_is_tried_again_a_minute_later(
    serving: Supervisor, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("typo")
    child = serving.start(refusing(tmp_path / "file"))

    look_until(serving, lambda: serving.has_refused("p"))

    assert child.again_at is not None
    assert 50 < child.again_at - time.monotonic() <= 60
