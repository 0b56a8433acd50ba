"""The state folder: one owner at a time, private files, plain refusals."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ops.stack import errors
from ops.stack.logs import LARGEST_BYTES, keep_small, open_log, tail
from ops.stack.state import StateFolder, write_private
from ops.stack.up import read_arguments


def test_a_folder_that_is_held_is_refused_with_the_holder_and_the_mend(tmp_path: Path) -> None:
    with (
        StateFolder(tmp_path).lock(),
        pytest.raises(errors.AlreadyRunning, match=f"process {os.getpid()}.*--state"),
        StateFolder(tmp_path).lock(),
    ):
        pass


def test_a_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    with StateFolder(tmp_path).lock():
        pass
    with StateFolder(tmp_path).lock():
        pass


def test_the_lock_of_a_dead_owner_is_waited_for_while_its_guard_clears_up(tmp_path: Path) -> None:
    # A descriptor passed to the guard keeps the lock after its owner has gone.
    program = (
        "import subprocess, sys; from pathlib import Path; from ops.stack.state import StateFolder\n"
        f"with StateFolder(Path({str(tmp_path)!r})).lock() as lock:\n"
        "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(0.5)'], pass_fds=[lock])\n"
        "    import os; os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

    with StateFolder(tmp_path).lock() as lock:
        assert os.pread(lock, 20, 0).decode() == str(os.getpid())


def test_the_secret_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)

    path = folder.secret_key_file()
    key = path.read_text()

    assert len(key) >= 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert folder.secret_key_file().read_text() == key


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    write_private(path, "old")

    with pytest.raises(UnicodeEncodeError):
        write_private(path, "half \udc80")

    assert path.read_text() == "old"


def test_a_folder_of_another_account_is_refused_with_a_mend(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        # Root may write anywhere; a file in the way is the nearest thing to it.
        (tmp_path / "state").write_text("")
        with pytest.raises(errors.CannotStart, match="--state"), StateFolder(tmp_path / "state").lock():
            pass
        return
    tmp_path.chmod(0o500)
    with pytest.raises(errors.CannotStart, match="--state"), StateFolder(tmp_path / "state").lock():
        pass


def test_a_disk_that_is_nearly_full_is_said_before_anything_is_made(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, room_needed=2**60)

    with pytest.raises(errors.DiskFull, match="too full"), folder.lock():
        pass


def test_a_large_log_is_put_aside_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    path.write_bytes(b"x" * (LARGEST_BYTES + 1))

    with open_log(path) as log:
        log.write(b"new\n")

    assert path.read_text() == "new\n"
    assert (tmp_path / "web.log.1").stat().st_size == LARGEST_BYTES + 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_that_grows_large_is_put_aside_while_its_writer_writes_on(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    (tmp_path / "web.log").write_text("small\n")
    with open_log(path) as log:
        log.write(b"x" * LARGEST_BYTES + b" the last before\n")
        log.flush()
        keep_small(tmp_path)
        log.write(b"the first after\n")

    assert path.read_text() == "the first after\n"
    assert (tmp_path / "worker.log.1").read_text().endswith(" the last before\n")
    assert stat.S_IMODE((tmp_path / "worker.log.1").stat().st_mode) == 0o600
    assert (tmp_path / "web.log").read_text() == "small\n"
    assert tail(path, since=LARGEST_BYTES) == "the first after\n"


def test_the_end_of_a_log_begins_where_this_start_began(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    path.write_text("before\nafter\n")

    assert tail(path, since=7) == "after\n"
    assert tail(path, size=3) == "er\n"
    assert tail(tmp_path / "none.log") == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "0"], "not a port"),
        (["--port", "70000"], "not a port"),
        (["--port", "eight"], "invalid"),
        (["--processes", "0"], "from 1 to 32"),
        (["--port", "65530", "--processes", "8"], "ports in a row"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_arguments(arguments)

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_defaults_are_port_8000_one_process_and_var() -> None:
    options = read_arguments([])

    assert (options.port, options.processes) == (8000, 1)
