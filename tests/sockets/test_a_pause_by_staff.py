"""A pause by staff shows on open pages of every process within a second, and so does its end (S4)."""

import time

import pytest

from ops.character import get_persona
from tests.page_socket import Page
from tests.people import People
from tests.processes import Web
from tests.settings import DATABASE_URL
from tests.supervised import Supervisor

LINES = get_persona().lines
WITHIN_S = 1.0


@pytest.mark.parametrize(
    ("scope", "line"), [("person", LINES.staff_pause_person), ("site", LINES.staff_pause_site)]
)
async def test_an_idle_page_shows_it_and_its_end_in_time_on_every_process(
    service: Web, neighbour: Web, people: People, scope: str, line: str
) -> None:
    rosa = people.rosa
    about = rosa.row.pk if scope == "person" else people.site.pk
    cookie = rosa.sign_in(service.url)
    async with (
        Supervisor(DATABASE_URL, rosa) as sam,
        Page(service.socket_url, cookie) as here,
        Page(neighbour.socket_url, cookie) as there,
    ):
        for page in (here, there):
            hello = await page.until("hello")
            assert hello["conversation"]["pause_line"] == ""
        for change, expected in (
            (sam.pause, {"paused": True, "line": line}),
            (sam.resume, {"paused": False, "line": LINES.staff_pause_over}),
        ):
            await change(scope, about)
            began = time.monotonic()
            for page in (here, there):
                assert await page.until("staff_pause") == {"type": "staff_pause", **expected}
            assert time.monotonic() - began < WITHIN_S


async def test_it_concerns_no_page_of_another_site_and_is_told_once(service: Web, people: People) -> None:
    rosa, otto = people.rosa, people.otto
    async with (
        Supervisor(DATABASE_URL, rosa) as sam,
        Page(service.socket_url, otto.sign_in(service.url)) as stranger,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await stranger.until("hello")
        await page.until("hello")
        await sam.pause("site", people.site.pk)
        await page.until("staff_pause")
        await sam.pause("person", rosa.row.pk)
        assert (await page.until("staff_pause"))["line"] == LINES.staff_pause_person
        await sam.resume("person", rosa.row.pk)
        # The pause of the site is in force as before.
        assert (await page.until("staff_pause"))["line"] == LINES.staff_pause_site
        await sam.resume("site", people.site.pk)
        assert (await page.until("staff_pause"))["paused"] is False
        await stranger.say("Are you there?")
        await stranger.ending()
    assert "staff_pause" not in stranger.kinds()


async def test_a_page_that_opens_during_a_pause_reads_it_in_its_hello(service: Web, people: People) -> None:
    rosa = people.rosa
    async with Supervisor(DATABASE_URL, rosa) as sam:
        await sam.pause("person", rosa.row.pk)
        async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
            conversation = (await page.until("hello"))["conversation"]
            assert (conversation["paused"], conversation["pause_line"]) == (True, LINES.staff_pause_person)
            await sam.resume("person", rosa.row.pk)
            assert (await page.until("staff_pause"))["paused"] is False


async def test_what_staff_are_needed_for_works_meanwhile(service: Web, people: People) -> None:
    rosa = people.rosa
    async with (
        Supervisor(DATABASE_URL, rosa) as sam,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await page.until("hello")
        await sam.pause("person", rosa.row.pk)
        await page.until("staff_pause")
        await page.send({"type": "help"})
        assert (await page.until("help"))["line"]
        await page.say("I want to kill myself")
        assert (await page.ending())["type"] == "safety"
        await sam.take_over()
        assert (await page.until("person"))["state"] == "joins"
        await sam.say("I am with you now.")
        assert (await page.until("said"))["text"] == "I am with you now."
        await page.say("Thank you.")
        assert (await page.ending())["type"] == "handed_over"
        await sam.resume("person", rosa.row.pk)
