"""The page that stands on a port while the service behind it cannot: drafted words, status 503, nothing else.

Standard library alone, because it must work when the service's own code refuses to start.
"""

import contextlib
import http.server
import socket
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "en": ROOT / "templates" / "unavailable.html",
    "es": ROOT / "templates" / "unavailable.es.html",
}
"""By language. The first is the one of a browser that asks for no other of them."""
CSS, SVG, SCRIPT = "text/css; charset=utf-8", "image/svg+xml", "text/javascript; charset=utf-8"
# It looks like the other short pages, so that people recognise the service.
SHEETS = ("variables.css", "base.css", "companion.css", "strip.css", "quiet.css")
PARTS = {**dict.fromkeys(SHEETS, CSS), "mark.svg": SVG}
LOOKS = ROOT / "companion" / "static" / "companion"
FILES = {f"/static/companion/{name}": (kind, LOOKS / name) for name, kind in PARTS.items()} | {
    "/static/unavailable.js": (SCRIPT, Path(__file__).parent / "unavailable.js"),
    "/static/companion/backoff.js": (SCRIPT, LOOKS / "backoff.js"),
}
RETRY_AFTER_S = 15
REQUEST_LIMIT_S = 10.0
"""From the connection to the end of the answer, however slowly bytes trickle."""
MAX_REQUESTS = 500
"""Requests that are answered at once; each has a thread."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Connection": "close",
}


def choose_language(accepted: str) -> str:
    """Return the language of `PAGES` that comes first in an Accept-Language header, as browsers order it."""
    wanted = (one.partition(";")[0].partition("-")[0].strip().lower() for one in accepted.split(","))
    return next((language for language in wanted if language in PAGES), next(iter(PAGES)))


class UnavailablePage:
    """Answers every request on the listening socket of a door, until it is stopped."""

    def __init__(self, listening: socket.socket) -> None:
        self._server = _Server(listening)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="unavailable", daemon=True
        )

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more; the socket goes on listening, so that callers wait for the next process."""
        self._server.shutdown()
        self._thread.join()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening.getsockname()[:2], _Answer, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.pages = {language: page.read_bytes() for language, page in PAGES.items()}
        self.files = {path: (kind, file.read_bytes()) for path, (kind, file) in FILES.items()}
        self._since: dict[socket.socket, float] = {}

    def verify_request(self, request: object, client_address: object) -> bool:
        """Whether there is room for one more."""
        return len(self._since) < MAX_REQUESTS

    def process_request(self, request: Any, client_address: Any) -> None:
        self._since[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._since.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called by the server many times a second: end the requests that are overdue."""
        overdue = time.monotonic() - REQUEST_LIMIT_S
        for request, since in list(self._since.items()):
            if since < overdue:
                # Its thread reads the end of the request, and closes it.
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller who hung up is no news."""


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "companion"
    sys_version = ""
    # Seconds without a byte before the thread is given to others.
    timeout = REQUEST_LIMIT_S
    server: _Server

    def answer(self) -> None:
        """Send one of the page's own files, or for every other address, sockets included, the page under 503."""
        if self.path in self.server.files:
            self._send(HTTPStatus.OK, *self.server.files[self.path])
            return
        page = self.server.pages[choose_language(self.headers.get("Accept-Language", ""))]
        if self.command not in {"GET", "HEAD"}:
            # What was sent by a form is not sent again: its page goes to the front door instead.
            page = page.replace(b'data-next=""', b'data-next="/"')
        self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/html; charset=utf-8", page)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.close_connection = True
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", str(RETRY_AFTER_S))
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the path of a card is a credential."""
