"""Where alerts go in tests: a mail server and a webhook on this machine, which keep what they were given."""

import contextlib
import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any


class Mailbox(socketserver.ThreadingTCPServer):
    """Takes every e-mail. `answers` is what it says to a recipient."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _MailCall)
        self.letters: list[str] = []
        self.recipients: list[str] = []
        self.answers = b"250 yes"
        self.refuses: set[str] = set()
        self.trickles = threading.Event()
        """While it is set, greets a byte at a time and never ends."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _MailCall(socketserver.StreamRequestHandler):
    server: Mailbox

    def handle(self) -> None:
        if self.server.trickles.is_set():
            with contextlib.suppress(OSError):
                trickle(self.wfile, self.server.trickles)
            return
        self._say(b"220 here")
        while line := self.rfile.readline():
            match line.split(maxsplit=1)[0].upper():
                case b"QUIT":
                    self._say(b"221 bye")
                    return
                case b"RCPT":
                    address = line.decode().split("<")[1].split(">")[0]
                    self.server.recipients.append(address)
                    refused = address in self.server.refuses
                    self._say(b"550 no such person" if refused else self.server.answers)
                case b"DATA":
                    self._say(b"354 go on")
                    self.server.letters.append(self._letter())
                    self._say(b"250 taken")
                case _:
                    self._say(b"250 yes")

    def _letter(self) -> str:
        lines = iter(self.rfile.readline, b".\r\n")
        return b"".join(lines).decode()

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")


def trickle(out: BufferedIOBase, on: threading.Event, *, every_s: float = 0.05) -> None:
    """Send a byte now and again while `on` is set. Raises OSError when the other side has gone."""
    while on.is_set():
        out.write(b"2")
        out.flush()
        time.sleep(every_s)


class Hook(ThreadingHTTPServer):
    """Takes every POST. `status` and `body` are what it answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _HookCall)
        self.posts: list[dict[str, Any]] = []
        self.status = 200
        self.body = b""
        self.trickles = threading.Event()
        """While it is set, the answer comes a byte at a time and never ends."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/a-secret-path"


class _HookCall(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append(json.loads(body))
        if self.server.trickles.is_set():
            with contextlib.suppress(OSError):
                trickle(self.wfile, self.server.trickles)
            return
        self.send_response(self.server.status)
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """A mail server for one test."""
    with Mailbox() as server, _serving(server):
        yield server


@contextmanager
def hook() -> Iterator[Hook]:
    """A webhook for one test."""
    with Hook() as server, _serving(server):
        yield server


@contextmanager
def _serving(server: Mailbox | Hook) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.trickles.clear()
        server.shutdown()
        thread.join()
