"""A Celery worker that is killed does not keep a flag from ringing: the web processes escalate as well (S2, T11)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from celery import Celery
from django.contrib.auth.models import User
from django.db.models.functions import Now

from companion.models import Flag, FlagStep, Site
from ops.models import FlagRing
from ops.stack.postgres import EmbeddedPostgres
from ops.stack.valkey import EmbeddedValkey
from tests.page_socket import Page
from tests.patience import until, wait_until
from tests.people import People, Person, in_database
from tests.processes import ROOT, Web
from tests.sinks import start_hook, start_mailbox
from tests.supervised import listen_for_flag

RED = "I want to kill myself tonight."
LATER_S = 3_600
"""A stage that is so far away comes only once a test makes it due."""


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


def make_due(flag: Flag, site: Site) -> None:
    """Let the next stage of the flag come now, and on-call's right after it, with what a dead process had claimed."""
    Site.objects.filter(pk=site.pk).update(second_ring_s=1)
    FlagRing.objects.filter(flag=flag.pk, done_at=None).update(send_at=Now())
    Flag.objects.filter(pk=flag.pk).update(next_stage_at=Now())


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
    first_ring_s = 1 if dies_after == "the first time" else LATER_S
    in_database(
        lambda: Site.objects.filter(pk=people.site.pk).update(
            first_ring_s=first_ring_s, second_ring_s=2 * LATER_S
        )
    )
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
                async with listen_for_flag(database) as until_stored, Page(web.socket_url, cookie) as page:
                    await page.until("hello")
                    await page.say(RED)
                    await until_stored()
                    if dies_after == "the first time":
                        await until(lambda: (flag := get_flag(rosa)) and flag.stage == 1, within_s=30)
                    kill_worker()
                    assert "Please tell someone near you" in (await page.until("safety"))["line"]
                flag = get_flag(rosa)
                assert flag is not None and flag.stage == (1 if dies_after == "the first time" else 0)
                in_database(lambda: make_due(flag, people.site))
                await until(lambda: posts.find_rings(flag.pk), within_s=40)
                # What the worker may have begun is not lost. Web processes of other tests have no mail server, so
                # it may take a further try.
                await until(
                    lambda: not in_database(FlagRing.objects.filter(flag=flag.pk, done_at=None).exists),
                    within_s=120,
                )
            assert "sam@example.org" in letters.recipients
            [post] = posts.find_rings(flag.pk)
            assert people.site.name in post["says"] and "Rosa" not in str(post)
    finally:
        valkey.stop()
    steps = FlagStep.objects.filter(flag=flag, what="escalated").order_by("id")
    assert in_database(lambda: list(steps.values_list("note", flat=True))) == [
        "to all staff of the site",
        "to on-call",
    ]
    in_database(lambda: Flag.objects.filter(pk=flag.pk).update(next_stage_at=None))
