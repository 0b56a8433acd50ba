"""A Celery worker that is killed does not keep a flag from ringing: the web processes escalate as well (S2, T11)."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from celery import Celery
from django.contrib.auth.models import User

from companion.models import Flag, FlagStep, Site
from ops.models import FlagRing
from ops.stack.postgres import EmbeddedPostgres
from ops.stack.valkey import EmbeddedValkey
from tests.page_socket import Page
from tests.patience import until, wait_until
from tests.people import People, Person, in_database
from tests.processes import ROOT, Web
from tests.sinks import start_hook, start_mailbox

RED = "I want to kill myself tonight."


@contextmanager
def start_worker(folder: Path, **settings: str) -> Iterator[Callable[[], None]]:
    """Run a worker with its schedule, as the stack starts it, and wait until it has escalated. Yields what kills it."""
    log = folder / "worker.log"
    celery = [sys.executable, "-m", "celery", "--app", "ops.project.celery", "worker", "--beat"]
    options = ["--schedule", str(folder / "beat"), "--concurrency", "2", "--loglevel", "WARNING"]
    alone = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    with log.open("w") as file:
        worker = subprocess.Popen(
            [*celery, *options, *alone],
            cwd=ROOT,
            env=os.environ | settings,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )

    def kill() -> None:
        """SIGKILL the worker, its pool and its schedule at once."""
        os.killpg(worker.pid, signal.SIGKILL)
        assert worker.wait(10) == -signal.SIGKILL

    try:
        wait_until(lambda: has_escalated(worker, log, settings["VALKEY_URL"]), within_s=90)
        yield kill
    finally:
        if worker.poll() is None:
            kill()


def has_escalated(worker: "subprocess.Popen[bytes]", log: Path, broker: str) -> bool:
    """Whether the worker has begun to escalate flags, as it says itself."""
    assert worker.poll() is None, log.read_text(errors="replace")[-3000:]
    with Celery(broker=broker, set_as_current=False) as app:
        told = app.control.inspect(timeout=1).stats() or {}
    return any("ops.escalate_flags" in stats["total"] for stats in told.values())


def get_flag(person: Person) -> Flag | None:
    return in_database(lambda: Flag.objects.filter(conversation=person.conversation).first())


def find_rings(posts: Sequence[dict[str, Any]], site: Site) -> list[dict[str, Any]]:
    """Those that ring for a flag of the site: alerts go to the same address, and have numbers of their own."""
    return [post for post in posts if site.name in post["says"]]


@pytest.mark.parametrize("dies_after", ["the message", "the first time"])
async def test_a_flag_rings_on_call_through_the_web_processes_once_the_worker_is_killed_after(
    another_web: Callable[..., Web],
    people: People,
    database: EmbeddedPostgres,
    tmp_path: Path,
    dies_after: str,
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    in_database(lambda: User.objects.filter(pk=sam.pk).update(email="sam@example.org"))
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(first_ring_s=4, second_ring_s=8))
    valkey = EmbeddedValkey(tmp_path / "valkey")
    try:
        with start_hook() as posts, start_mailbox() as letters:
            settings = {
                "VALKEY_URL": valkey.start(),
                "ALERT_WEBHOOK_URL": posts.url,
                "EMAIL_URL": f"smtp://127.0.0.1:{letters.port}",
            }
            web = another_web(**settings)
            cookie = rosa.sign_in(web.url)
            with start_worker(tmp_path, **settings) as kill_worker:
                async with (
                    await psycopg.AsyncConnection.connect(database.url, autocommit=True) as listener,
                    Page(web.socket_url, cookie) as page,
                ):
                    await listener.execute("LISTEN companion")
                    await page.until("hello")
                    await page.say(RED)
                    async with asyncio.timeout(20):
                        async for notify in listener.notifies():
                            if '"flags"' in notify.payload:
                                break
                    if dies_after == "the first time":
                        await until(lambda: (flag := get_flag(rosa)) and flag.stage == 1, within_s=30)
                    kill_worker()
                    assert "Please tell someone near you" in (await page.until("safety"))["line"]
                flag = get_flag(rosa)
                assert flag is not None and flag.stage >= (1 if dies_after == "the first time" else 0)
                await until(lambda: find_rings(posts.posts, people.site), within_s=40)
                # What the worker may have begun is neither lost nor done twice.
                await until(
                    lambda: not in_database(FlagRing.objects.filter(flag=flag.pk, done_at=None).exists)
                )
            assert "sam@example.org" in letters.recipients
            [post] = find_rings(posts.posts, people.site)
            assert post["id"] == flag.pk and "Rosa" not in str(post)
    finally:
        valkey.stop()
    steps = FlagStep.objects.filter(flag=flag, what="escalated").order_by("id")
    assert in_database(lambda: list(steps.values_list("note", flat=True))) == [
        "to all staff of the site",
        "to on-call",
    ]
    in_database(lambda: Flag.objects.filter(pk=flag.pk).update(next_stage_at=None))
