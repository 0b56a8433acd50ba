"""Debian's nginx with the file that we ship, on a free port of this machine, with a certificate of its own."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.acceptance.backups.pooler import find_free_port
from tests.patience import wait_until
from tests.processes import ROOT

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


def find_nginx() -> str:
    """Where it is. Fails, rather than skips, when it is missing: scripts/test installs it."""
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert found, "nginx is missing: apt-get install nginx"
    return found


@contextmanager
def start_proxy(
    folder: Path, ports: Sequence[int], *, port: int | None = None, edits: Edits = ()
) -> Iterator[Proxy]:
    """Start nginx before web processes on `ports`. `edits` are made to the shipped file, as an operator might."""
    port = port or find_free_port()
    folder.mkdir(exist_ok=True)
    certificate, key = _write_certificate(folder)
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
        [find_nginx(), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "start.log")]
    )
    try:
        wait_until((folder / "nginx.pid").exists)
        yield Proxy(port=port, certificate=certificate, tls=ssl.create_default_context(cafile=certificate))
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


def _write_certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return paths
