"""The files for containers name what exists, as the units do, and each package that ships has its licence on a page."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "ops" / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
COMPOSE = (DEPLOY / "compose.yaml").read_text()
LICENCES = (ROOT / "ops" / "reference" / "licences.md").read_text()
NOT_SERVED = {"tests", "scripts", "var"}
"""Folders of the checkout that no image needs."""


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def list_locked(lock: Path) -> set[str]:
    return {normalize(name) for name in re.findall(r"^([\w.-]+)(?:\[.*\])?==", lock.read_text(), re.M)}


def test_the_image_holds_every_folder_that_serves_and_no_other() -> None:
    copied = set(re.findall(r"^COPY (\w+) \1$", CONTAINERFILE, re.M))
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))}

    assert copied == there - NOT_SERVED


def test_the_image_serves_as_an_ordinary_user_from_pinned_wheels() -> None:
    assert re.findall(r"^USER (\S+)", CONTAINERFILE, re.M) == ["10001:10001"]
    installs = re.findall(r"pip install ([^&]+)", CONTAINERFILE)
    assert len(installs) == 2
    assert all("--require-hashes" in words and "--only-binary :all:" in words for words in installs)


@pytest.mark.parametrize("lock", ["requirements.lock", "ops/deploy/bill-of-materials.lock"])
def test_every_package_of_a_lock_that_an_image_installs_has_its_hashes(lock: str) -> None:
    entries = re.split(r"\n(?=[\w.-]+(?:\[.*\])?==)", (ROOT / lock).read_text())[1:]

    assert entries and all("--hash=sha256:" in entry for entry in entries)


def test_the_ignored_files_keep_data_keys_and_environments_out_of_the_image() -> None:
    ignored = (ROOT / ".containerignore").read_text()

    assert {"/var/", "/.venv/", "/.git/"} <= set(ignored.splitlines())
    # Docker reads the file of this name.
    assert (ROOT / ".dockerignore").read_text() == ignored


def test_compose_runs_commands_that_exist_and_one_beat() -> None:
    commands = set(re.findall(r'command: \["manage\.py", "(\w+)"', COMPOSE))

    assert commands == {"migrate", "serve"} and commands <= set(get_commands())
    assert len(re.findall(r'"celery", "--app", "ops.project.celery", "beat"', COMPOSE)) == 1


def test_compose_has_the_web_processes_of_the_proxy_and_mounts_what_stands_in() -> None:
    upstream = set(re.findall(r"server 127\.0\.0\.1:(\d+)\b", (DEPLOY / "nginx.example.conf").read_text()))

    assert set(re.findall(r'"serve", "--port", "(\d+)"', COMPOSE)) == upstream
    mounted = re.findall(r"^\s+- (\.\.[\w./-]+):/opt/companion/", COMPOSE, re.M)
    assert len(mounted) == 3 and all((DEPLOY / path).is_dir() for path in mounted)


def test_compose_keeps_every_secret_in_a_file() -> None:
    secrets = set(re.findall(r"^  (\w+): \{file: \./secrets/\1\}$", COMPOSE, re.M))

    assert secrets == {
        "secret_key",
        "database_url",
        "owner_database_url",
        "owner_password",
        "service_password",
    }
    assert not re.search(r"postgres(ql)?://", COMPOSE)


def test_the_page_of_licences_names_every_package_that_ships_once_and_no_other() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`.+) \|$", LICENCES, re.M)
    listed = [normalize(name) for row in rows for name in re.findall(r"`([^`]+)`", row)]
    [elsewhere] = re.findall(r"in no image: (.+)\.", LICENCES)
    listed += [normalize(name) for name in re.findall(r"`([^`]+)`", elsewhere)]

    assert sorted(listed) == sorted(list_locked(ROOT / "requirements.lock"))
