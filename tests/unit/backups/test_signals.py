"""How a run hears signals: at once while it works, afterwards while it starts or clears something."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.backups.commands.error_exit import exit_on_error
from ops.backups.restoring.leftovers import clean_folders
from ops.backups.run.errors import ArchiveDamaged, SourceChanged
from ops.backups.run.monitor import SIGNALS, RunMonitor, StopSignal
from ops.backups.run.run_folder import Marker, RunFolder
from ops.stack.signals import defer_signals
from tests.folders import allow_traversal


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_something_is_started_waits_until_it_is_known(number: signal.Signals) -> None:
    done = []
    with RunMonitor().listen_for_signals(), pytest.raises(StopSignal):
        with defer_signals():
            signal.raise_signal(number)
            done.append("started")
        done.append("went on")

    assert done == ["started"]


def test_nothing_is_held_back_in_a_thread_that_hears_no_signals() -> None:
    done: list[str] = []

    def start() -> None:
        with defer_signals():
            done.append("started")

    thread = threading.Thread(target=start)
    thread.start()
    thread.join(5)

    assert done == ["started"]


def test_clearing_away_is_finished_whatever_signals_come_meanwhile() -> None:
    monitor, cleared = RunMonitor(), []

    def clear() -> None:
        signal.raise_signal(signal.SIGTERM)
        cleared.append("all")

    with monitor.listen_for_signals():
        with monitor.open_cleanup_stack() as stack:
            stack.callback(clear)
        with pytest.raises(StopSignal):
            monitor.tick()

    assert cleared == ["all"]


@pytest.mark.parametrize(
    ("error", "says", "code"),
    [
        (StopSignal(), "COULD NOT RUN: A signal ended the run. Run it again.", 2),
        (SourceChanged("A migration ran.", mend="Wait."), "INCONCLUSIVE: A migration ran. Wait.", 3),
        (ArchiveDamaged("Cut."), "COULD NOT RUN: Cut.", 2),
        (PermissionError(13, "Permission denied", "/srv"), "Permission denied (/srv)", 2),
        (KeyError("Rosa"), "has a bug: KeyError in", 2),
    ],
)
def test_a_command_ends_in_a_sentence_and_never_in_the_exit_code_of_a_difference(
    error: BaseException, says: str, code: int
) -> None:
    said: list[str] = []

    with pytest.raises(SystemExit) as ended, exit_on_error(said.append, RunMonitor()):
        raise error

    assert ended.value.code == code
    assert says in said[0] and "Rosa" not in said[0]


def test_an_exit_of_the_commands_own_passes() -> None:
    with pytest.raises(SystemExit) as ended, exit_on_error(print, RunMonitor()):
        raise SystemExit(4)

    assert ended.value.code == 4


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Run as an account that may not remove everything: root may."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    yield
    os.seteuid(was)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder in which any account may work."""
    allow_traversal(tmp_path).chmod(0o777)
    return tmp_path / "work"


def test_a_folder_that_could_not_be_emptied_is_still_known_as_ours_by_the_next_run(
    work: Path, ordinary_user: None
) -> None:
    run = RunFolder.create(work, Marker(run="a", source="s", scratch="d"))
    stuck = run.path / "stuck"
    stuck.mkdir()
    (stuck / "file").touch()
    stuck.chmod(0o500)

    run.remove()
    again = clean_folders(work)
    stuck.chmod(0o700)
    at_last = clean_folders(work)

    assert again.still_there == (f"folder {run.path}: something in it cannot be removed",)
    assert (at_last.dropped, at_last.left) == (("folder restore_drill_a",), ())
    assert list(work.iterdir()) == []
