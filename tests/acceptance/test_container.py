"""The image of `ops/deploy/Containerfile`: built with Debian's own tools, and run as its own user."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ops.stack.postgres import EmbeddedPostgres
from tests.acceptance.backups.pooler import pooler
from tests.folders import allow_traversal
from tests.patience import wait_until
from tests.processes import ROOT
from tests.programs import find_free_port

# It makes a base system, and installs all packages in it.
pytestmark = [pytest.mark.timeout(2_400), pytest.mark.long]

AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
PACKAGES = "python3,python3-venv,ca-certificates"
USER = 10_001


class Builder:
    """Buildah with a storage of its own, without a daemon and without a network of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = os.environ | {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}

    def list_words(self, *words: str) -> list[str]:
        """The command line of one call."""
        return ["buildah", "--root", f"{self.folder}/storage", "--runroot", f"{self.folder}/run", *words]

    def run(self, *words: str) -> str:
        """Run to the end; returns what it printed, on both streams where it fails."""
        done = subprocess.run(
            self.list_words(*words), cwd=ROOT, env=self._environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{words[0]}: {done.stdout[-2_000:]}{done.stderr[-2_000:]}"
        return done.stdout.strip()

    def start(self, *words: str, log: Path) -> "subprocess.Popen[bytes]":
        """Start and go on."""
        with log.open("wb") as said:
            return subprocess.Popen(
                self.list_words(*words), cwd=ROOT, env=self._environment, stdout=said, stderr=said
            )


@pytest.fixture(scope="module")
def image() -> Iterator[tuple[Builder, str]]:
    """The built image in a container that is ready to run."""
    folder = Path(tempfile.mkdtemp(prefix="companion-image-"))
    builder = Builder(folder)
    try:
        base = folder / "base"
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(base)],
            check=True,
            capture_output=True,
            env=os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin"},
        )
        # A network may have authorities of its own.
        shutil.copy(AUTHORITIES, base / AUTHORITIES.relative_to("/"))
        scratch = builder.run("from", "scratch")
        builder.run("add", "--quiet", scratch, str(base), "/")
        builder.run("config", "--env", f"PIP_CERT={AUTHORITIES}", scratch)
        builder.run("commit", "--quiet", scratch, "localhost/base:tried")
        builder.run("rm", scratch)
        shutil.rmtree(base)
        builder.run(
            *("bud", "--format", "docker", "--pull-never", "--build-arg", "BASE=localhost/base:tried"),
            *("--file", "ops/deploy/Containerfile", "--tag", "companion:tried", "."),
        )
        container = builder.run("from", "--pull-never", "localhost/companion:tried")
        yield builder, container
        builder.run("rm", "--all")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def reached_database(database: EmbeddedPostgres, folder: Path) -> Iterator[str]:
    """The tests' database by TCP: its own socket is for one account alone."""
    allow_traversal(folder)
    with pooler(
        folder / "pooler", database.url, mode="session", database="companion", pool_size=40
    ) as address:
        yield address


def test_the_image_holds_no_compiler_no_installer_and_a_bill_of_materials(
    image: tuple[Builder, str],
) -> None:
    builder, container = image
    root = Path(builder.run("mount", container))
    programs = {path.name for path in [*root.glob("usr/bin/*"), *root.glob("opt/companion/.venv/bin/*")]}

    assert not {"gcc", "cc", "g++", "make", "ld"} & programs
    assert not {name for name in programs if name.startswith("pip")}
    assert not list(root.glob("opt/companion/tests")) and not list(root.glob("opt/companion/var"))
    bill = json.loads((root / "opt/companion/bill-of-materials.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    named = {(normalize(part["name"]), part["version"]) for part in bill["components"]}
    lock = (ROOT / "requirements.lock").read_text()
    locked = {
        (normalize(name), version)
        for name, version in re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+) ", lock, re.M)
    }
    everywhere = {
        (normalize(name), version)
        for name, version in re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+) \\$", lock, re.M)
    }
    assert everywhere <= named <= locked


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_it_serves_as_its_own_user_and_writes_into_its_state_folder_alone(
    image: tuple[Builder, str], database: EmbeddedPostgres, tmp_path: Path
) -> None:
    builder, container = image
    root = Path(builder.run("mount", container))
    mark = tmp_path / "mark"
    port = find_free_port()
    with reached_database(database, tmp_path) as address:
        mark.touch()
        given = (
            "--env",
            f"DATABASE_URL={address}",
            "--env",
            "SECRET_KEY=a key for the tests of the image alone",
        )
        preflight = subprocess.run(
            builder.list_words("run", *given, container, "--", ".venv/bin/python", "manage.py", "preflight"),
            env=os.environ | {"BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"},
            capture_output=True,
            text=True,
        )
        serve = (".venv/bin/python", "manage.py", "serve", "--port", str(port))
        log = tmp_path / "web.log"
        web = builder.start("run", *given, container, "--", *serve, log=log)
        try:
            wait_until(lambda: is_ready(port, web, log), within_s=120)
            [inside] = {os.stat(f"/proc/{pid}").st_uid for pid in find_processes(f"--port {port}")} - {0}
        finally:
            for pid in find_processes(f"serve --port {port}"):
                os.kill(pid, 15)
            web.wait(60)

    assert "Database: warns (companion.W020)" in preflight.stdout, preflight.stderr
    assert "Tables: in order." in preflight.stdout and "Commit: in order." in preflight.stdout
    assert inside == USER
    written = [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and path.stat().st_mtime > mark.stat().st_mtime
    ]
    assert [path for path in written if not path.startswith(("srv/companion/", "tmp/", "etc/", "run/"))] == []


def is_ready(port: int, web: "subprocess.Popen[bytes]", log: Path) -> bool:
    assert web.poll() is None, log.read_text()
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def find_processes(words: str) -> list[int]:
    """The processes whose command line has these words, buildah's own apart."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if words in line and not line.startswith("buildah"):
            found.append(int(folder.name))
    return found
