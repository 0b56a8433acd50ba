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


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    (tmp_path / "scripts").mkdir()
    for name in ("environment.sh", "environment.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    for lock in ("requirements.lock", "requirements-dev.lock"):
        (tmp_path / lock).write_text("# nothing\n")
    return Checkout(tmp_path)


def test_it_is_made_once_and_then_left_alone(checkout: Checkout) -> None:
    first, second = checkout.run(), checkout.run()

    assert MAKING in first.stdout
    assert second.stdout == f"runs in {checkout.folder / '.venv'}\n"


def test_the_environment_for_tests_serves_as_the_one_to_run_with(checkout: Checkout) -> None:
    checkout.run("requirements-dev.lock")

    assert MAKING not in checkout.run("requirements.lock").stdout


def test_a_changed_lock_brings_it_into_step_without_making_it_anew(checkout: Checkout) -> None:
    checkout.run()
    kept = checkout.folder / ".venv" / "kept"
    kept.touch()
    (checkout.folder / "requirements.lock").write_text("# nothing more\n")

    assert MENDING in checkout.run().stdout
    assert kept.exists()


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


def test_one_whose_python_has_gone_is_made_anew(checkout: Checkout) -> None:
    checkout.run()
    python = checkout.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")

    assert MAKING in checkout.run().stdout


def test_a_package_that_cannot_be_had_is_said_and_the_next_run_tries_again(checkout: Checkout) -> None:
    lock = checkout.folder / "requirements.lock"
    lock.write_text(f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n")

    refused = checkout.run()

    assert refused.returncode == 1
    assert "no-such-package" in refused.stdout
    assert "Traceback" not in refused.stdout
    lock.write_text("# nothing\n")
    assert checkout.run().returncode == 0


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
