"""The environment that the scripts make: once, whole, and mended where a run was broken off. No network is used."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import wait_until

ROOT = Path(__file__).resolve().parents[2]
GO = """
set -euo pipefail
. scripts/environment.sh
make_environment "$1"
"$python" -c 'import sys; print("runs in", sys.prefix)'
"""
MAKING = "Making the environment"
MENDING = "into step"


@dataclass(frozen=True)
class Checkout:
    """A checkout that needs no packages at all."""

    folder: Path

    def run(self, lock: str = "requirements.lock", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", GO, "bash", lock],
            cwd=self.folder,
            env=self.clean_environment(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def clean_environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        path = f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.folder), "PIP_NO_INDEX": "1"} | dict(extra)


def make_checkout(folder: Path) -> Checkout:
    (folder / "scripts").mkdir()
    for name in ("environment.sh", "environment.py"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
    for lock in ("requirements.lock", "requirements-dev.lock"):
        (folder / lock).write_text("# nothing\n")
    return Checkout(folder)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout without an environment."""
    return make_checkout(tmp_path)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout whose environment was made for tests."""
    checkout = make_checkout(tmp_path_factory.mktemp("made"))
    made = checkout.run("requirements-dev.lock")
    assert MAKING in made.stdout
    assert (made.returncode, made.stdout.splitlines()[-1]) == (0, f"runs in {checkout.folder / '.venv'}")
    return checkout


@pytest.fixture
def made(made_once: Checkout, tmp_path: Path) -> Checkout:
    """A copy of it: to make one takes seconds."""
    shutil.copytree(made_once.folder, tmp_path / "copy", symlinks=True)
    return Checkout(tmp_path / "copy")


@pytest.mark.parametrize("lock", ["requirements-dev.lock", "requirements.lock"])
def test_it_is_made_once_for_tests_and_then_left_alone_also_by_what_runs(made: Checkout, lock: str) -> None:
    assert made.run(lock).stdout == f"runs in {made.folder / '.venv'}\n"


def test_a_changed_lock_brings_it_into_step_without_making_it_anew(made: Checkout) -> None:
    kept = made.folder / ".venv" / "kept"
    kept.touch()
    (made.folder / "requirements.lock").write_text("# nothing more\n")

    assert MENDING in made.run().stdout
    assert kept.exists()


def test_one_that_is_a_link_is_left_as_it_is(
    checkout: Checkout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    others = tmp_path_factory.mktemp("others")
    (others / "bin").mkdir()
    (checkout.folder / ".venv").symlink_to(others)

    refused = checkout.run()

    assert refused.returncode == 1
    assert "Remove the link" in refused.stdout
    assert [path.name for path in others.iterdir()] == ["bin"]


@pytest.mark.long
def test_one_that_was_half_made_is_made_anew(checkout: Checkout) -> None:
    with subprocess.Popen(
        ["bash", "-c", GO, "bash", "requirements.lock"],
        cwd=checkout.folder,
        env=checkout.clean_environment({}),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as broken_off:
        wait_until((checkout.folder / ".venv" / "pyvenv.cfg").exists, within_s=30)
        os.killpg(broken_off.pid, signal.SIGKILL)

    again = checkout.run()

    assert MAKING in again.stdout
    assert "runs in" in again.stdout


def test_one_whose_python_has_gone_is_made_anew(made: Checkout) -> None:
    python = made.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")

    assert MAKING in made.run("requirements-dev.lock").stdout


@pytest.mark.long
def test_a_package_that_cannot_be_had_is_said_and_the_next_run_tries_again(made: Checkout) -> None:
    lock = made.folder / "requirements.lock"
    lock.write_text(f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n")

    refused = made.run()

    assert refused.returncode == 1
    assert "no-such-package" in refused.stdout
    assert "Traceback" not in refused.stdout
    lock.write_text("# nothing\n")
    assert made.run().returncode == 0


def test_a_python_that_is_too_old_is_said_with_the_version_that_is_needed(checkout: Checkout) -> None:
    old = checkout.folder / "old"
    old.mkdir()
    for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11"):
        (old / name).write_text("#!/bin/sh\nexit 1\n")
        (old / name).chmod(0o755)

    refused = checkout.run(PATH=f"{old}:/usr/bin:/bin")

    assert refused.returncode == 1
    assert "Python 3.11 or newer" in refused.stdout


def test_a_python_without_its_venv_module_is_said_with_the_package_that_has_it(checkout: Checkout) -> None:
    (checkout.folder / "ensurepip.py").write_text("raise ImportError\n")

    refused = checkout.run(PYTHONPATH=str(checkout.folder))

    assert refused.returncode == 1
    assert f"python{sys.version_info.major}.{sys.version_info.minor}-venv" in refused.stdout


def test_every_pin_to_run_with_is_among_the_pins_to_test_with() -> None:
    run, test = (
        {
            line.split(" ")[0]
            for line in (ROOT / name).read_text().splitlines()
            if "==" in line and line[0] != " "
        }
        for name in ("requirements.lock", "requirements-dev.lock")
    )

    assert run <= test
