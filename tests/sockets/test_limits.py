"""No person fills the room alone, and no lane is asked for more than it takes (Q1, Q7)."""

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ceilings import set_ceiling
from tests.chains import lane_text
from tests.page_socket import Page
from tests.patience import until
from tests.people import People
from tests.processes import Rehearsal, Web

CHAIN = '[presets.normal]\nchain = ["head", "second"]\n'
Routing = Callable[..., str]


@pytest.fixture
def routing(tmp_path: Path, rehearsal: Rehearsal) -> Routing:
    """Write a routing file of two lanes; both are the rehearsal provider unless a test says otherwise."""

    def write(
        *, head: str = rehearsal.url, head_takes: int = 8, second_takes: int = 8, preset: str = ""
    ) -> str:
        path = tmp_path / "routing.toml"
        path.write_text(
            lane_text("head", base_url=head, max_in_flight=head_takes)
            + lane_text("second", base_url=rehearsal.url, max_in_flight=second_takes)
            + CHAIN
            + preset
        )
        return str(path)

    return write


async def test_a_person_with_three_turns_under_way_is_asked_to_wait_and_keeps_the_words(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"pace_ms": 50, "words": 200}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        for number in range(3):
            await page.say(f"Message {number}.")
        key = await page.say("One too many.")
        problem = await page.until("problem")
        assert problem["code"] == "too_many"
        turn = rosa.turns()[0].pk
        await page.send({"type": "stop", "turn": turn})
        for _ in range(3):
            await page.ending()
        await page.say("One too many.", key)
        assert (await page.until("accepted"))["key"] == key
        await page.ending()
    assert [turn.question for turn in rosa.turns()][-1] == "One too many."


async def test_no_more_than_twenty_messages_a_minute_are_taken_from_one_person(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"say": "Yes.", "pace_ms": 0, "first_word_s": 0})
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        for _ in range(20):
            await page.say("Again.")
            await page.ending()
        await page.say("Again.")
        assert (await page.until("problem"))["code"] == "too_many"
    assert len(rosa.turns()) == 20


async def test_the_head_of_the_chain_is_never_asked_for_more_than_it_takes(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal, routing: Routing
) -> None:
    path = routing(head_takes=2)
    webs = [another_web(COMPANION_ROUTING=path) for _ in range(2)]
    rehearsal.clear()
    await asyncio.gather(*(whole_turn(webs[n % 2], people, f"P{n}") for n in range(7)))
    assert rehearsal.read_gauge()["max_in_flight"] == 2


async def test_a_preset_has_a_ceiling_of_its_own_below_what_its_lane_takes(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal, routing: Routing
) -> None:
    web = another_web(COMPANION_ROUTING=routing(preset="ceiling = 2\n"))
    rehearsal.clear()
    kinds = await asyncio.gather(*(whole_turn(web, people, f"P{n}") for n in range(5)))
    assert kinds == ["complete"] * 5
    assert rehearsal.read_gauge()["max_in_flight"] == 2


async def test_a_lane_further_down_that_is_full_is_waited_for_and_never_asked_for_more_than_it_takes(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal, routing: Routing
) -> None:
    # No process listens at the head's address, so every turn moves on at once.
    web = another_web(COMPANION_ROUTING=routing(head="http://127.0.0.1:9/v1", second_takes=2))
    rehearsal.inject({"pace_ms": 20, "words": 40})
    kinds = await asyncio.gather(*(whole_turn(web, people, f"P{n}") for n in range(5)))
    assert rehearsal.read_gauge()["max_in_flight"] == 2
    assert kinds == ["complete"] * 5


async def test_a_lowered_ceiling_ends_no_running_turn_and_holds_for_the_next_one(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web = another_web(COMPANION_CEILING="3")
    rehearsal.inject({"pace_ms": 25, "words": 60})
    first = [asyncio.create_task(whole_turn(web, people, f"P{n}")) for n in range(3)]
    await until(lambda: rehearsal.read_gauge()["in_flight"] == 3)
    with set_ceiling(1):
        later = [asyncio.create_task(whole_turn(web, people, f"L{n}")) for n in range(3)]
        assert await asyncio.gather(*first) == ["complete"] * 3
        rehearsal.clear()
        assert await asyncio.gather(*later) == ["complete"] * 3
        assert rehearsal.read_gauge()["max_in_flight"] == 1


async def test_one_person_has_only_so_many_pages_open_and_the_next_is_told_so(
    another_web: Callable[..., Web], people: People
) -> None:
    web = another_web(COMPANION_PAGES_PER_PERSON="2")
    cookie = people.rosa.sign_in(web.url)
    async with Page(web.socket_url, cookie) as first, Page(web.socket_url, cookie) as second:
        assert [(await page.next())["type"] for page in (first, second)] == ["hello", "hello"]
        await is_turned_away(web, cookie)
        # Another person is another matter.
        async with Page(web.socket_url, people.otto.sign_in(web.url)) as other:
            assert (await other.next())["type"] == "hello"
        await first.connection.close()
        async with Page(web.socket_url, cookie) as third:
            assert (await third.next())["type"] == "hello"


async def test_one_address_has_only_so_many_pages_open(
    another_web: Callable[..., Web], people: People
) -> None:
    web = another_web(COMPANION_PAGES_PER_ADDRESS="1")
    async with Page(web.socket_url, people.rosa.sign_in(web.url)) as page:
        assert (await page.next())["type"] == "hello"
        await is_turned_away(web, people.otto.sign_in(web.url))


async def is_turned_away(web: Web, cookie: str) -> None:
    """A drafted line, and the door is shut for good: a page does not come back by itself from this code."""
    async with Page(web.socket_url, cookie) as page:
        problem = await page.next()
        assert (problem["type"], problem["code"]) == ("problem", "too_many_pages")
        assert problem["line"].startswith("This chat is open in many places.")
        assert await page.close_code() == 4403


async def whole_turn(web: Web, people: People, name: str) -> str:
    person = people.add_participant(name)
    async with Page(web.socket_url, person.sign_in(web.url)) as page:
        await page.say("Good day.", str(uuid.uuid4()))
        ending: str = (await page.ending(within_s=40))["type"]
        return ending
