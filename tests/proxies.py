"""Debian's nginx with the file that we ship, on a free port of this machine, with a certificate of its own."""

import os
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.certificates import trust, write_certificate
from tests.patience import wait_until
from tests.processes import ROOT
from tests.programs import find_free_port, find_program

SHIPPED = ROOT / "ops" / "deploy" / "nginx.example.conf"
SERVERS = "    server 127.0.0.1:8001 max_fails=0;\n    server 127.0.0.1:8002 max_fails=0;\n"
Edits = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """A running nginx. `tls` trusts its certificate."""

    port: int
    certificate: Path
    tls: ssl.SSLContext

    @property
    def url(self) -> str:
        """Its address."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def socket_url(self) -> str:
        """The address of the chat socket."""
        return f"wss://127.0.0.1:{self.port}/ws/chat/"


@contextmanager
def start_proxy(
    folder: Path, ports: Sequence[int], *, port: int | None = None, edits: Edits = ()
) -> Iterator[Proxy]:
    """Start nginx before web processes on `ports`. `edits` are made to the shipped file, as an operator might."""
    port = port or find_free_port()
    folder.mkdir(exist_ok=True)
    certificate, key = write_certificate(folder)
    servers = "".join(f"    server 127.0.0.1:{one} max_fails=0;\n" for one in ports)
    _write_files(
        folder,
        [
            (SERVERS, servers),
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("/etc/ssl/talk.example.org.pem", str(certificate)),
            ("/etc/ssl/talk.example.org.key", str(key)),
            ("/var/log/nginx", str(folder)),
            ("/opt/companion", str(ROOT)),
            ("companion-error.log crit", "companion-error.log info"),
            *edits,
        ],
    )
    process = subprocess.Popen(
        [
            find_program("nginx"),
            "-p",
            str(folder),
            "-c",
            str(folder / "nginx.conf"),
            "-e",
            str(folder / "start.log"),
        ]
    )
    try:
        wait_until((folder / "nginx.pid").exists)
        yield Proxy(port=port, certificate=certificate, tls=trust(certificate))
    finally:
        process.terminate()
        process.wait(10)


def _write_files(folder: Path, edits: Edits) -> None:
    site = SHIPPED.read_text()
    for old, new in edits:
        assert old in site, f"the shipped file has no {old!r}"
        site = site.replace(old, new)
    (folder / "site.conf").write_text(site)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    (folder / "nginx.conf").write_text(
        "daemon off;\nworker_processes 1;\npid nginx.pid;\n"
        # Its workers must read this checkout.
        + ("user root;\n" if os.geteuid() == 0 else "")
        + "events { worker_connections 1024; }\nhttp {\n    types { text/html html; text/css css; }\n"
        + "".join(f"    {place}_temp_path {folder}/{place};\n" for place in places)
        + f"    access_log off;\n    include {folder}/site.conf;\n}}\n"
    )
