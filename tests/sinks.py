"""Destinations of alerts in tests: a mail server and a webhook on this machine that keep every message."""

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
    """A mail server that keeps every e-mail. `answers` is its reply to a recipient."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _MailHandler)
        self.letters: list[str] = []
        self.recipients: list[str] = []
        self.answers = b"250 yes"
        self.refuses: set[str] = set()
        self.trickles = threading.Event()
        """While set, sends its greeting one byte at a time, without end."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _MailHandler(socketserver.StreamRequestHandler):
    server: Mailbox

    def handle(self) -> None:
        if self.server.trickles.is_set():
            with contextlib.suppress(OSError):
                trickle(self.wfile, self.server.trickles)
            return
        self._reply(b"220 here")
        while line := self.rfile.readline():
            match line.split(maxsplit=1)[0].upper():
                case b"QUIT":
                    self._reply(b"221 bye")
                    return
                case b"RCPT":
                    address = line.decode().split("<")[1].split(">")[0]
                    self.server.recipients.append(address)
                    refused = address in self.server.refuses
                    self._reply(b"550 no such person" if refused else self.server.answers)
                case b"DATA":
                    self._reply(b"354 go on")
                    self.server.letters.append(self._read_letter())
                    self._reply(b"250 taken")
                case _:
                    self._reply(b"250 yes")

    def _read_letter(self) -> str:
        lines = iter(self.rfile.readline, b".\r\n")
        return b"".join(lines).decode()

    def _reply(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")


def trickle(out: BufferedIOBase, on: threading.Event, *, every_s: float = 0.05) -> None:
    """Send one byte every `every_s` seconds while `on` is set. Raises OSError when the client has gone."""
    while on.is_set():
        out.write(b"2")
        out.flush()
        time.sleep(every_s)


class Hook(ThreadingHTTPServer):
    """A webhook that keeps every POST. `status` and `body` are its reply."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _HookHandler)
        self.posts: list[dict[str, Any]] = []
        self.status = 200
        self.body = b""
        self.trickles = threading.Event()
        """While set, sends its reply one byte at a time, without end."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/a-secret-path"

    def find_rings(self, flag: int) -> list[dict[str, Any]]:
        """The posts that ring for this flag. Those about alerts come here too, and have numbers of their own."""
        return [post for post in self.posts if (post["kind"], post["id"]) == ("flag", flag)]


class _HookHandler(BaseHTTPRequestHandler):
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
        """Print nothing to the terminal."""


@contextmanager
def start_mailbox() -> Iterator[Mailbox]:
    """Start a mail server for one test."""
    with Mailbox() as server, _serve(server):
        yield server


@contextmanager
def start_hook() -> Iterator[Hook]:
    """Start a webhook for one test."""
    with Hook() as server, _serve(server):
        yield server


@contextmanager
def _serve(server: Mailbox | Hook) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.trickles.clear()
        server.shutdown()
        thread.join()
