"""A rolling restart stops before it takes away the last process that serves, and says why."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from ops.rolling_restart import RestartBroken, RollingRestart


class Ready(BaseHTTPRequestHandler):
    """Answers every request with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def ready_process() -> Iterator[int]:
    """The port of a process that is ready."""
    with HTTPServer(("127.0.0.1", 0), Ready) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def ports() -> Iterator[list[int]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ready_process()) for _ in range(2)]


def note(file: Path, *, code: int = 0) -> str:
    """A command that writes down the port which it is given, and ends with this code."""
    return f"{sys.executable} -c \"import sys; open('{file}', 'a').write('{{port}} '); sys.exit({code})\""


def test_each_is_restarted_in_the_order_given(ports: list[int], tmp_path: Path) -> None:
    said: list[str] = []
    RollingRestart(ports=ports, command=note(tmp_path / "log"), say=said.append).run()

    assert (tmp_path / "log").read_text().split() == [str(port) for port in ports]
    assert len(said) == 2 * len(ports)


def test_nothing_is_restarted_while_one_is_not_ready(ports: list[int], tmp_path: Path) -> None:
    with ready_process() as away:
        pass
    with pytest.raises(RestartBroken, match=f"port {away} does not answer /readyz. Nothing was restarted"):
        RollingRestart(ports=[*ports, away], command=note(tmp_path / "log")).run()

    assert not (tmp_path / "log").exists()


def test_a_command_that_fails_ends_it(ports: list[int], tmp_path: Path) -> None:
    with pytest.raises(RestartBroken, match=f"port {ports[0]} ended with code 5"):
        RollingRestart(ports=ports, command=note(tmp_path / "log", code=5)).run()

    assert (tmp_path / "log").read_text().split() == [str(ports[0])]


def test_one_that_does_not_come_back_ends_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stays = stack.enter_context(ready_process())
        with ExitStack() as leaving:
            port = leaving.enter_context(ready_process())
            restart = RollingRestart(
                ports=[port, stays],
                command=note(tmp_path / "log"),
                ready_within_s=0.0,
                say=lambda _text: leaving.close(),
            )
            with pytest.raises(RestartBroken, match=f"port {port} is not ready"):
                restart.run()

    assert (tmp_path / "log").read_text().split() == [str(port)]
