"""The waiting room over real sockets and two processes: the line at once, every way out, no slot lost (Q1 to Q4)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from companion.models import Attempt, Ceiling, ReplyChunk, Turn
from tests.ceilings import delete_ceilings
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, Person, finish_visit, in_database
from tests.processes import Rehearsal, Web

SLOW = {"pace_ms": 20, "words": 2_000}
QUEUED = "Lots of people are talking to me right now. I will come to you in a moment."
TRY_AGAIN = "I could not get to you this time."


@pytest.fixture
def ceiling(database: object) -> Iterator[Callable[[int], None]]:
    """Set the operators' ceiling for every process; deleted after the test."""

    def set_value(value: int) -> None:
        in_database(lambda: Ceiling.objects.create(value=value, by="Ines", reason="a test"))

    yield set_value
    delete_ceilings()


@asynccontextmanager
async def occupy_the_only_place(service: Web, people: People, rehearsal: Rehearsal) -> AsyncIterator[Page]:
    """Occupy the only place with a reply that goes on until it is stopped."""
    rehearsal.inject(SLOW, times=1, match="Take the place.")
    async with Page(service.socket_url, people.add_participant("Holder").sign_in(service.url)) as page:
        await page.say("Take the place.")
        await page.until("words")
        yield page
        await free_the_place(page)


async def free_the_place(page: Page) -> None:
    turn = next(frame["turn"] for frame in page.frames if frame["type"] == "accepted")
    if "stopped" not in page.kinds(turn):
        await page.send({"type": "stop", "turn": turn})
        await page.ending(turn)


async def ask_and_wait(page: Page, text: str = "May I come in?") -> int:
    """Ask, and read until the waiting room; returns the turn."""
    await page.say(text)
    turn: int = (await page.until("accepted"))["turn"]
    assert (await page.until("waiting"))["turn"] == turn
    return turn


def was_asked(rehearsal: Rehearsal, text: str) -> bool:
    return any(text in one["messages"][-1]["content"] for one in rehearsal.list_requests())


async def test_a_person_who_waits_reads_the_queued_line_at_once_and_needs_to_do_nothing(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal, ceiling: Callable[[int], None]
) -> None:
    ceiling(1)
    async with (
        occupy_the_only_place(service, people, rehearsal) as holder,
        Page(neighbour.socket_url, people.rosa.sign_in(service.url)) as page,
    ):
        turn = await ask_and_wait(page)
        line = page.frames[-1]["line"]
        assert line == QUEUED
        assert not any(letter.isdigit() for letter in line)
        await free_the_place(holder)
        assert (await page.ending(turn))["type"] == "complete"
        assert page.kinds(turn) == ["accepted", "waiting", "words", "complete"]


async def test_the_first_to_come_is_first_over_two_processes(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal, ceiling: Callable[[int], None]
) -> None:
    ceiling(1)
    cast = [people.add_participant(f"P{number}") for number in range(6)]
    async with occupy_the_only_place(service, people, rehearsal) as holder:
        pages = [
            Page((service, neighbour)[number % 2].socket_url, person.sign_in(service.url))
            for number, person in enumerate(cast)
        ]
        for page in pages:
            await page.__aenter__()
            await ask_and_wait(page)
        await free_the_place(holder)
        await asyncio.gather(*(page.ending() for page in pages))
        for page in pages:
            await page.__aexit__()
    rows = [person.turns()[0] for person in cast]
    assert [row.pk for row in rows] == sorted(row.pk for row in rows)
    admitted = [row.admitted_at for row in rows if row.admitted_at]
    assert admitted == sorted(admitted) and len(admitted) == 6


async def test_at_the_wait_ceiling_a_person_is_told_to_try_again_and_no_provider_was_asked(
    service: Web,
    another_web: Callable[..., Web],
    people: People,
    rehearsal: Rehearsal,
    ceiling: Callable[[int], None],
) -> None:
    ceiling(1)
    hurried = another_web(COMPANION_WAIT_CEILING_S="1")
    rosa = people.rosa
    async with (
        occupy_the_only_place(service, people, rehearsal),
        Page(hurried.socket_url, rosa.sign_in(service.url)) as page,
    ):
        turn = await ask_and_wait(page, "What about me?")
        refused = await page.ending(turn)
        assert refused["type"] == "refused"
        assert refused["line"].startswith(TRY_AGAIN)
    row = rosa.turns()[0]
    assert (row.state, row.reason, row.question) == ("refused", "wait_ceiling", "What about me?")
    assert (row.admitted_at, row.held_until) == (None, None)
    assert not was_asked(rehearsal, "What about me?")
    assert in_database(lambda: Attempt.objects.filter(turn=row).count()) == 0
    told = [line for line in hurried.log_text.splitlines() if f"turn.ended turn={turn} " in line]
    assert ["state=refused reason=wait_ceiling" in line for line in told] == [True]


async def test_stop_leaves_the_waiting_room_and_the_next_in_line_moves_up(
    service: Web, people: People, rehearsal: Rehearsal, ceiling: Callable[[int], None]
) -> None:
    ceiling(1)
    async with (
        occupy_the_only_place(service, people, rehearsal) as holder,
        Page(service.socket_url, people.rosa.sign_in(service.url)) as leaves,
        Page(service.socket_url, people.rosa.sign_in(service.url)) as stays,
    ):
        turn = await ask_and_wait(leaves, "I change my mind.")
        await ask_and_wait(stays)
        await leaves.send({"type": "stop", "turn": turn})
        assert (await leaves.ending(turn))["type"] == "stopped"
        await free_the_place(holder)
        assert (await stays.ending())["type"] == "complete"
    assert not was_asked(rehearsal, "I change my mind.")


async def test_a_reload_and_another_device_find_the_turn_still_waiting_and_see_it_begin(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal, ceiling: Callable[[int], None]
) -> None:
    ceiling(1)
    cookie = people.rosa.sign_in(service.url)
    async with occupy_the_only_place(service, people, rehearsal) as holder:
        async with Page(service.socket_url, cookie) as page:
            turn = await ask_and_wait(page)
        async with Page(service.socket_url, cookie) as again, Page(neighbour.socket_url, cookie) as other:
            for one in (again, other):
                [snapshot] = (await one.next())["conversation"]["turns"]
                assert (snapshot["id"], snapshot["state"], snapshot["line"]) == (turn, "waiting", QUEUED)
            await free_the_place(holder)
            assert [(await one.ending(turn))["type"] for one in (again, other)] == ["complete", "complete"]
            assert again.words(turn) == other.words(turn) != ""


async def test_signing_out_gives_the_place_in_line_up(
    service: Web, people: People, rehearsal: Rehearsal, ceiling: Callable[[int], None]
) -> None:
    ceiling(1)
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with occupy_the_only_place(service, people, rehearsal) as holder:
        async with Page(service.socket_url, cookie) as page:
            await ask_and_wait(page, "The kettle is on.")
            finish_visit(service.url, cookie)
            assert await page.close_code() == 4401
        await until(lambda: rosa.turns()[0].closed_at is not None)
        await free_the_place(holder)
        async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
            await page.say("And now me.")
            assert (await page.ending())["type"] == "complete"
    assert not was_asked(rehearsal, "The kettle is on.")


async def test_sixty_turns_over_every_way_out_lose_no_slot(
    service: Web,
    neighbour: Web,
    another_web: Callable[..., Web],
    people: People,
    rehearsal: Rehearsal,
    ceiling: Callable[[int], None],
) -> None:
    ceiling(4)
    hurried = another_web(COMPANION_WAIT_CEILING_S="1")
    rehearsal.inject({"cut": "fin", "after": 3}, match="cut")
    rehearsal.inject({"status": 401, "error": "invalid_key"}, match="key")
    rehearsal.inject({"refusal": True}, match="refusal")
    rehearsal.inject({"reply": "empty"}, match="empty")
    rehearsal.inject(SLOW, match="slow")
    webs = (service, neighbour)

    async def take_part(number: int) -> None:
        person = people.add_participant(f"P{number}")
        cookie = person.sign_in(service.url)
        way = WAYS[number % len(WAYS)]
        async with asyncio.timeout(60):
            await way(hurried if way is wait_to_the_ceiling else webs[number % 2], cookie, person)

    for wave in range(6):
        await asyncio.gather(*(take_part(wave * 10 + number) for number in range(10)))
    await until(lambda: rehearsal.read_gauge()["in_flight"] == 0)
    await until(lambda: in_database(lambda: Turn.objects.filter(closed_at=None).count()) == 0)
    assert in_database(ReplyChunk.objects.count) == 0
    # Exactly four slots are free again.
    rehearsal.clear()
    rehearsal.inject({"pace_ms": 10, "words": 40})
    await asyncio.gather(*(complete(webs[n % 2], people.rosa.sign_in(service.url), None) for n in range(8)))
    assert rehearsal.read_gauge()["max_in_flight"] == 4


async def complete(web: Web, cookie: str, person: Person | None) -> None:
    await play(web, cookie, "Good day.", "complete")


async def break_off(web: Web, cookie: str, person: Person) -> None:
    await play(web, cookie, "cut", "paused")


async def meet_a_refused_key(web: Web, cookie: str, person: Person) -> None:
    await play(web, cookie, "key", "paused")


async def be_declined(web: Web, cookie: str, person: Person) -> None:
    await play(web, cookie, "refusal", "paused")


async def get_an_empty_reply(web: Web, cookie: str, person: Person) -> None:
    await play(web, cookie, "empty", "paused")


async def play(web: Web, cookie: str, text: str, ending: str) -> None:
    async with Page(web.socket_url, cookie) as page:
        await page.say(text)
        assert (await page.ending(within_s=50))["type"] == ending


async def stop_while_it_speaks(web: Web, cookie: str, person: Person) -> None:
    async with Page(web.socket_url, cookie) as page:
        await page.say("slow")
        turn = (await page.until("words", within_s=50))["turn"]
        await page.send({"type": "stop", "turn": turn})
        assert (await page.ending(turn))["type"] == "stopped"


async def stop_at_once(web: Web, cookie: str, person: Person) -> None:
    async with Page(web.socket_url, cookie) as page:
        await page.say("slow")
        turn = (await page.until("accepted"))["turn"]
        await page.send({"type": "stop", "turn": turn})
        assert (await page.ending(turn))["type"] == "stopped"


async def sign_out(web: Web, cookie: str, person: Person) -> None:
    async with Page(web.socket_url, cookie) as page:
        await page.say("slow")
        await page.until("words", within_s=50)
        finish_visit(web.url, cookie)
        assert await page.close_code() == 4401


async def close_the_tab(web: Web, cookie: str, person: Person) -> None:
    """A turn belongs to its process: it runs to its end without a page."""
    async with Page(web.socket_url, cookie) as page:
        await page.say("Good day.")
        await page.until("accepted")
    await until(lambda: person.turns()[0].closed_at is not None, within_s=50)


async def wait_to_the_ceiling(web: Web, cookie: str, person: Person) -> None:
    """Is refused at the wait ceiling, or answered if a place was free in time."""
    async with Page(web.socket_url, cookie) as page:
        await page.say("Good day.")
        assert (await page.ending(within_s=50))["type"] in {"refused", "complete"}


WAYS = (
    complete,
    break_off,
    meet_a_refused_key,
    be_declined,
    get_an_empty_reply,
    stop_while_it_speaks,
    stop_at_once,
    sign_out,
    close_the_tab,
    wait_to_the_ceiling,
)
