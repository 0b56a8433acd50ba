"""Doors: the listening sockets of one `up`. It keeps them open from its first step to its last.

A web process is handed its door when it starts. Between two of them the callers wait in the door's queue, or
are answered with the unavailable page; the port never closes.
"""

import contextlib
import errno
import socket
from collections.abc import Iterator, Sequence

from ops.stack.errors import CannotStart, PortInUse
from ops.stack.unavailable import UnavailablePage

HOST = "127.0.0.1"
DEFAULT_PORT = 8000
# Daphne's own 50 is too few when a site's machines all come back at the same moment.
BACKLOG = 2048


class Door:
    """One port of ours."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket = _listen(port)
        self._page: UnavailablePage | None = None

    @property
    def address(self) -> str:
        """What a browser is given."""
        return f"http://{HOST}:{self.port}"

    def say_unavailable(self) -> None:
        """Answer with the unavailable page from now on; no change if it already does."""
        if self._page is None:
            self._page = UnavailablePage(self.socket)
            self._page.start()

    def hand_over(self) -> int:
        """Stop answering here, and return the descriptor for the web process that answers next."""
        if self._page is not None:
            self._page.stop()
            self._page = None
        # A thread of the page polls without waiting; the web process wants the same.
        self.socket.setblocking(False)
        return self.socket.fileno()

    def close(self) -> None:
        """Give the port back."""
        self.hand_over()
        self.socket.close()


@contextlib.contextmanager
def open_doors(ports: Sequence[int]) -> Iterator[list[Door]]:
    """All ports or none. Raises PortInUse before anything has been started."""
    with contextlib.ExitStack() as stack:
        doors: list[Door] = []
        for port in ports:
            door = Door(port)
            stack.callback(door.close)
            doors.append(door)
        yield doors


def _listen(port: int) -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port whose last connections are still fading away is free.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((HOST, port))
        door.listen(BACKLOG)
    except OverflowError:
        door.close()
        raise CannotStart(f"{port} is not a port. Choose one from 1024 to 65535 with --port.") from None
    except OSError as refusal:
        door.close()
        if refusal.errno == errno.EADDRINUSE:
            raise PortInUse(
                f"Port {port} is in use by another program. Stop that one, or choose another with --port."
            ) from None
        raise CannotStart(
            f"Port {port} cannot be used ({refusal.strerror}). Choose another with --port."
        ) from None
    return door
