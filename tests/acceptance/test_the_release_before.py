"""The last release and the working tree serve side by side over one database."""

import io
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from ops.stack.postgres import EmbeddedPostgres
from tests.page_socket import Page
from tests.processes import ROOT, Rehearsal

RELEASE_0_1_0 = "cd02394"
"""The commit that ended the section 0.1.0 of CHANGELOG.md."""
PARTS = ("companion", "ops", "personas", "routing", "templates", "validation", "manage.py", "pyproject.toml")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The files of the last release."""
    archive = subprocess.run(
        ["git", "archive", RELEASE_0_1_0, *PARTS], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip("This checkout does not have the history of the last release.")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tmp_path / "release", filter="data")
    return tmp_path / "release"


@pytest.fixture
def environment(tmp_path: Path, rehearsal: Rehearsal) -> Iterator[dict[str, str]]:
    """The settings of both releases, with an empty database."""
    tmp_path.chmod(0o755)
    server = EmbeddedPostgres(tmp_path / "postgres", settings={"fsync": "off"})
    server.start()
    yield {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "ops.project.settings",
        "DATABASE_URL": server.url,
        "COMPANION_STATE_DIR": str(tmp_path),
        "REHEARSAL_URL": rehearsal.url,
    }
    server.stop()


def manage(folder: Path, environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def serve(folder: Path, environment: dict[str, str], stack: ExitStack) -> tuple["subprocess.Popen[str]", str]:
    """Start a web process; returns it and its URL."""
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", "0"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    )
    stack.callback(process.terminate)
    assert process.stdout is not None
    line = next(line for line in process.stdout if line.startswith("serving: "))
    return process, line.removeprefix("serving: ").strip()


def sign_in(url: str, code: str) -> str:
    """Type the code of a card; returns the cookie of the visit."""
    with httpx.Client(base_url=url, trust_env=False, verify=False) as browser:
        answer = browser.post("/card/", data={"code": code}, headers={"Origin": url})
        assert answer.status_code == 302
        return browser.cookies["companion"]


async def ask(url: str, cookie: str) -> None:
    """Ask on this process, and be answered."""
    async with Page(url.replace("http", "ws", 1) + "/ws/chat/", cookie) as page:
        await page.until("hello")
        await page.say("What helps against fear?")
        ending = await page.ending()
        assert ending["type"] == "complete"
        assert page.words(ending["turn"])


@pytest.mark.long
async def test_people_talk_on_processes_of_both_releases_while_one_takes_the_place_of_the_other(
    release: Path, environment: dict[str, str]
) -> None:
    manage(release, environment, "migrate")
    manage(release, environment, "site", "add", "willow", "Willow", "--by", "Ines")
    card = manage(release, environment, "card", "Rosa", "--create", "--site", "willow", "--by", "Ines")
    found = re.search(r"Code to type: (\S+)", card)
    assert found is not None
    with ExitStack() as stack:
        leaving, old = serve(release, environment, stack)
        cookie = sign_in(old, found[1])
        await ask(old, cookie)
        # Its statements are prepared by now, and columns change under them.
        manage(ROOT, environment, "migrate")
        await ask(old, cookie)
        _, new = serve(ROOT, environment, stack)
        await ask(new, cookie)
        await ask(old, cookie)
        leaving.terminate()
        assert leaving.wait(30) == 0
        await ask(new, cookie)
