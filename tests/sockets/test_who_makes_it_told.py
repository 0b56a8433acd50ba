"""That staff were told is said only once a screen of the site's own staff shows the flag (S2)."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from companion.models import Flag, TranscriptEntry
from ops.models import AuditEntry
from tests.desk_socket import Desk
from tests.page_socket import Frame, Page
from tests.people import People, Person, in_database
from tests.processes import Web

RED = "I want to kill myself tonight."
RED_TOLD, RED_UNTOLD = "Staff here have been told", "Please tell someone near you"
HELP_TOLD, HELP_UNTOLD = "Staff here can see that you want to talk", "You asked for a person."


async def ask(page: Page, how: str) -> None:
    await (page.say(RED) if how == "safety" else page.send({"type": "help"}))


def read_flag(person: Person) -> Flag:
    return in_database(lambda: Flag.objects.get(conversation=person.conversation))


def is_told(frame: Frame) -> bool:
    told = RED_TOLD in frame["line"] or HELP_TOLD in frame["line"]
    assert told is not (RED_UNTOLD in frame["line"] or HELP_UNTOLD in frame["line"])
    return told


@pytest.mark.parametrize("how", ["safety", "help"])
async def test_a_screen_of_the_site_that_confirms_makes_it_told(
    service: Web, neighbour: Web, people: People, how: str
) -> None:
    rosa = people.rosa
    async with (
        Desk.sign_in(neighbour, people, people.add_sam()) as desk,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await ask(page, how)
        flag = await desk.flag(conversation=rosa.conversation.pk)
        assert (await desk.act("seen", flag=flag["id"]))["type"] == "done"
        assert is_told(await page.until(how))


@pytest.mark.parametrize("how", ["safety", "help"])
async def test_a_screen_of_the_site_that_confirms_nothing_does_not(
    service: Web, people: People, how: str
) -> None:
    rosa = people.rosa
    async with (
        Desk.sign_in(service, people, people.add_sam()) as desk,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await ask(page, how)
        await desk.flag(conversation=rosa.conversation.pk)
        assert not is_told(await page.until(how))
    assert read_flag(rosa).seen_at is None


SCREENS: dict[str, Callable[[People], User]] = {
    "of another site": lambda people: people.add_supervisor("olga", site=people.elsewhere),
    "of an operator": lambda people: people.add_ines(),
}


@pytest.mark.parametrize("how", ["safety", "help"])
@pytest.mark.parametrize("whose", SCREENS)
async def test_a_confirmation_from_a_screen_does_not_count_if_it_is(
    service: Web, people: People, how: str, whose: str
) -> None:
    rosa = people.rosa
    async with (
        Desk.sign_in(service, people, SCREENS[whose](people)) as other,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        async with asyncio.TaskGroup() as tasks:
            shown = tasks.create_task(page.until(how))
            await ask(page, how)
            while (flag := await asyncio.to_thread(find_flag, rosa)) is None:
                assert not shown.done(), "the flag is stored before its line is shown"
            await other.act("seen", flag=flag)
        assert not is_told(await shown)
    assert read_flag(rosa).seen_at is None
    assert count_seen_on_record(read_flag(rosa).pk) == 0


def find_flag(person: Person) -> int | None:
    return in_database(
        lambda: Flag.objects.filter(conversation=person.conversation).values_list("pk", flat=True).first()
    )


async def test_a_line_that_was_shown_stays_though_a_screen_shows_the_flag_later(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with (
        Desk.sign_in(service, people, people.add_sam()) as desk,
        Page(service.socket_url, cookie) as page,
    ):
        await ask(page, "safety")
        flag = await desk.flag(conversation=rosa.conversation.pk)
        shown = await page.until("safety")
        assert not is_told(shown)
        assert (await desk.act("seen", flag=flag["id"]))["type"] == "done"
        async with Page(service.socket_url, cookie) as reloaded:
            [turn] = (await reloaded.next())["conversation"]["turns"]
    assert turn["line"] == shown["line"]


@pytest.mark.parametrize("how", ["safety", "help"])
async def test_a_screen_that_is_gone_does_not_make_a_later_cause_told(
    service: Web, neighbour: Web, people: People, how: str
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with (
        Desk.sign_in(neighbour, people, people.add_sam()) as desk,
        Page(service.socket_url, cookie) as page,
    ):
        await ask(page, how)
        flag = await desk.flag(conversation=rosa.conversation.pk)
        await desk.act("seen", flag=flag["id"], count=flag["count"])
        assert is_told(await page.until(how))
    # A press within five seconds of the last line gets no further line, nor does one within a second at one socket.
    in_database(lambda: age_help_lines(rosa))
    async with Page(service.socket_url, cookie) as page:
        await page.until("hello")
        await ask(page, how)
        assert not is_told(await page.until(how))
    assert read_flag(rosa).count == 2


async def test_a_screen_that_shows_the_later_cause_too_makes_it_told_and_counts_as_seen_once(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    async with (
        Desk.sign_in(service, people, people.add_sam()) as desk,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        for count in (1, 2, 3):
            await ask(page, "safety")
            flag = await desk.flag(conversation=rosa.conversation.pk, count=count)
            # Of a number that never was, only what there is counts.
            await desk.act("seen", flag=flag["id"], count=10 if count == 2 else count)
            assert is_told(await page.until("safety"))
    stored = read_flag(rosa)
    assert (stored.count, stored.shown_count) == (3, 3)
    assert [step.what for step in in_database(lambda: list(stored.steps.all()))].count("seen") == 1
    assert count_seen_on_record(stored.pk) == 1


def count_seen_on_record(flag: int) -> int:
    return in_database(lambda: AuditEntry.objects.filter(what="saw_flag", note=f"flag {flag}").count())


def age_help_lines(person: Person) -> None:
    entries = TranscriptEntry.objects.filter(conversation=person.conversation, kind="help")
    entries.update(at=timezone.now() - timedelta(seconds=10))
