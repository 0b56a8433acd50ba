"""*Talk to a person* over HTTP, where no socket is: in every state, from our own pages alone (S3)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest

from companion.models import Flag
from ops.stack.postgres import EmbeddedPostgres
from tests.ceilings import set_ceiling
from tests.desk_socket import Desk, sign_staff_in
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, Person, finish_visit, in_database
from tests.processes import Rehearsal, Web
from tests.supervised import Supervisor

RED = "I want to kill myself tonight."
UNTOLD, TOLD = "You asked for a person.", "Staff here can see that you want to talk"
STORY = {"pieces": ["Once", *[" upon"] * 60], "pace_ms": 500}
END_BLOCKED_FLAG = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO companion_flag %'
"""
JSON = {"Accept": "application/json"}


class Browser:
    """What a page without a socket does."""

    def __init__(self, service: Web, cookie: str) -> None:
        self._service = service
        self.client = httpx.AsyncClient(
            base_url=service.url, cookies={"companion": cookie}, trust_env=False, verify=False, timeout=30
        )

    async def press(self, **headers: str) -> httpx.Response:
        """Press from a page of the service, or with these headers instead of its own."""
        own = headers or {"Origin": self._service.url}
        return await self.client.post("/help/", headers=JSON | own)


@pytest.fixture
def rosa(people: People) -> Person:
    return people.rosa


@pytest.fixture
async def browser(service: Web, rosa: Person) -> AsyncIterator[Browser]:
    made = Browser(service, rosa.sign_in(service.url))
    async with made.client:
        yield made


def read_flags(person: Person) -> list[tuple[str, str, str]]:
    rows = Flag.objects.filter(conversation=person.conversation)
    return in_database(lambda: list(rows.values_list("tier", "kind", "source")))


def assert_raised(answer: httpx.Response, person: Person) -> None:
    assert answer.status_code == 200, answer.text
    line = answer.json()["line"]
    assert line.startswith(UNTOLD) and "0808 157 0123" in line
    assert ("red", "help", "button") in read_flags(person)


async def stop(page: Page, turn: int) -> None:
    """Let the turn end, for the sake of the next test."""
    await page.send({"type": "stop", "turn": turn})
    await page.ending(turn)


@pytest.mark.parametrize(
    "fault",
    [
        {"hang": "before_byte"},
        {"status": 429, "error": "rate_limit"},
        {"status": 500, "error": "server_error"},
        {"cut": "reset", "after": 2},
        STORY,
    ],
    ids=["hangs", "refuses", "fails", "dies", "speaks"],
)
async def test_it_works_while_a_message_is_with_a_provider_that(
    service: Web, rehearsal: Rehearsal, rosa: Person, browser: Browser, fault: dict[str, Any]
) -> None:
    rehearsal.inject(fault)
    async with Page(service.socket_url, browser.client.cookies["companion"]) as page:
        await page.say("Good morning.")
        turn = (await page.until("accepted"))["turn"]
        await until(rehearsal.list_requests)
        assert_raised(await browser.press(), rosa)
        await stop(page, turn)


async def test_it_works_in_the_queue(
    service: Web, rehearsal: Rehearsal, people: People, rosa: Person, browser: Browser
) -> None:
    rehearsal.inject(STORY, times=1)
    with set_ceiling(1):
        async with (
            Page(service.socket_url, people.otto.sign_in(service.url)) as busy,
            Page(service.socket_url, browser.client.cookies["companion"]) as page,
        ):
            await busy.say("Tell me a long story.")
            turn = (await busy.until("words"))["turn"]
            await page.say("Hello")
            await page.until("waiting")
            assert_raised(await browser.press(), rosa)
            await stop(busy, turn)


async def test_it_works_while_staff_have_paused_the_companion_or_speak_themselves(
    rosa: Person, browser: Browser, database: EmbeddedPostgres
) -> None:
    async with Supervisor(database.url, rosa) as sam:
        await sam.pause("person", rosa.row.pk)
        await sam.take_over()
        assert_raised(await browser.press(), rosa)


async def test_it_works_after_a_safety_line(service: Web, rosa: Person, browser: Browser) -> None:
    async with Page(service.socket_url, browser.client.cookies["companion"]) as page:
        await page.say(RED)
        await page.until("safety")
    assert_raised(await browser.press(), rosa)
    assert sorted(kind for _, kind, _ in read_flags(rosa)) == ["help", "suicide-intent"]


async def test_a_screen_that_shows_it_in_time_is_told_of(
    service: Web, neighbour: Web, people: People, rosa: Person, browser: Browser
) -> None:
    cookie = sign_staff_in(neighbour, people, people.add_sam())
    async with Desk(neighbour, cookie) as desk, Desk(neighbour, cookie) as silent:

        async def show() -> None:
            flag = await desk.flag(conversation=rosa.conversation.pk)
            await desk.act("seen", flag=flag["id"])

        answer, _ = await asyncio.gather(browser.press(), show())
        assert answer.json()["line"].startswith(TOLD)
        assert (await silent.flag(conversation=rosa.conversation.pk, kind="help"))["tier"] == "red"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"X-No-Origin": "yes"},
    ],
    ids=str,
)
async def test_a_page_that_is_not_ours_raises_nothing(
    rosa: Person, browser: Browser, headers: dict[str, str]
) -> None:
    assert (await browser.press(**headers)).status_code == 403
    assert read_flags(rosa) == []


async def test_a_browser_that_hides_its_origin_is_heard(rosa: Person, browser: Browser) -> None:
    assert_raised(await browser.press(**{"Origin": "null", "Sec-Fetch-Site": "same-origin"}), rosa)


async def test_a_form_without_headers_is_heard_by_its_token(rosa: Person, browser: Browser) -> None:
    assert (await browser.client.get("/chat/")).status_code == 200
    form = {"csrfmiddlewaretoken": browser.client.cookies["csrftoken"]}
    answer = await browser.client.post("/help/", data=form)
    assert answer.status_code == 200 and UNTOLD in answer.text
    assert read_flags(rosa) == [("red", "help", "button")]


async def test_a_visit_that_has_ended_raises_nothing_and_says_whom_to_talk_to(
    service: Web, rosa: Person, browser: Browser
) -> None:
    finish_visit(service.url, browser.client.cookies["companion"])
    assert (await browser.press()).json() == {"problem": "signed_out", "reason": ""}
    page = await browser.client.post("/help/", headers={"Origin": service.url})
    assert page.status_code == 403
    assert "Go to the start" in page.text and "Go to the chat" not in page.text
    assert read_flags(rosa) == []


async def test_a_press_that_cannot_be_stored_says_so_and_a_later_one_is(
    rosa: Person, browser: Browser, database: EmbeddedPostgres
) -> None:
    async with (
        await psycopg.AsyncConnection.connect(database.url) as blocker,
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as ending,
    ):
        await blocker.execute("LOCK TABLE companion_flag IN ACCESS EXCLUSIVE MODE")
        pressing = asyncio.create_task(browser.press())
        async with asyncio.timeout(20):
            while await (await ending.execute(END_BLOCKED_FLAG)).fetchone() is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        answer = await pressing
        assert (answer.status_code, answer.json()) == (503, {"problem": "not_stored"})
        await blocker.rollback()
    assert_raised(await browser.press(), rosa)
