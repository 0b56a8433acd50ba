"""After the hold a question is offered back: to ask again, or to let go (T8)."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any

from companion.models import Turn
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.staff import expire_hold, play_broken_turn, play_turn

QUESTION = "What helps against fear?"
KEPT = "I did not come back to this in time. You can ask it again, or let it go."


async def kept_turn(service: Web, person: Person, rehearsal: Rehearsal, question: str = QUESTION) -> Turn:
    """A turn that broke off, and whose hold is over."""
    turn = await play_broken_turn(service, person, rehearsal, question=question)
    expire_hold(turn)
    return turn


async def offered(page: Page) -> list[dict[str, Any]]:
    """The kept questions in the `hello` of a page that was just opened."""
    kept: list[dict[str, Any]] = (await page.until("hello"))["conversation"]["kept"]
    return kept


def settled(person: Person) -> list[str]:
    return [turn.settled for turn in person.turns()]


async def test_a_question_is_offered_back_once_its_hold_is_over_and_not_before(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await play_broken_turn(service, rosa, rehearsal, question=QUESTION)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        assert await offered(page) == []
        expire_hold(turn)
        told = await page.until("kept")
    assert told["questions"] == [{"turn": turn.pk, "question": QUESTION, "line": KEPT}]
    async with Page(neighbour.socket_url, rosa.sign_in(neighbour.url)) as page:
        assert await offered(page) == told["questions"], "on another device and process as well"


async def test_asking_again_is_a_new_turn_with_the_same_question_and_settles_the_old_one(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await kept_turn(service, rosa, rehearsal)
    cookie, key = rosa.sign_in(service.url), str(uuid.uuid4())
    async with Page(service.socket_url, cookie) as page, Page(neighbour.socket_url, cookie) as second:
        assert len(await offered(page)) == len(await offered(second)) == 1
        for _ in range(2):
            await page.send({"type": "ask_again", "turn": turn.pk, "key": key})
        accepted = await page.until("accepted")
        assert accepted["key"] == key
        assert (await second.until("kept"))["questions"] == []
        assert (await page.ending(accepted["turn"]))["type"] == "complete"
    old, new = rosa.turns()
    assert (new.pk, new.question, new.openings) == (accepted["turn"], QUESTION, [])
    assert (old.settled, old.answered_by_id) == ("asked_again", None)
    assert rehearsal.list_requests()[-1]["messages"][-1]["content"] == QUESTION
    async with Page(neighbour.socket_url, cookie) as page:
        assert await offered(page) == []


async def test_two_tabs_on_two_processes_that_ask_again_in_one_moment_ask_once(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await kept_turn(service, rosa, rehearsal)
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as one, Page(neighbour.socket_url, cookie) as two:
        await asyncio.gather(one.until("hello"), two.until("hello"))
        await asyncio.gather(
            *(
                page.send({"type": "ask_again", "turn": turn.pk, "key": str(uuid.uuid4())})
                for page in (one, two)
            )
        )
        first, second = await asyncio.gather(one.ending(), two.ending())
        assert first == second
    assert settled(rosa) == ["asked_again", ""]


async def test_letting_go_is_stored_and_every_tab_agrees(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await kept_turn(service, rosa, rehearsal)
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as one, Page(neighbour.socket_url, cookie) as two:
        await asyncio.gather(one.until("hello"), two.until("hello"))
        for _ in range(2):
            await one.send({"type": "let_go", "turn": turn.pk})
            assert (await one.until("kept"))["questions"] == []
        assert (await two.until("kept"))["questions"] == []
        await two.send({"type": "ask_again", "turn": turn.pk, "key": str(uuid.uuid4())})
        assert (await two.until("kept", "accepted"))["questions"] == []
    assert settled(rosa) == ["let_go"]
    after = await play_turn(service, rosa, rehearsal, question="Good morning.")
    assert (after.state, after.openings) == ("complete", [])
    assert QUESTION not in str(rehearsal.list_requests()[-1]["messages"])


async def test_a_question_that_is_still_held_can_be_neither_asked_again_nor_let_go(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await play_broken_turn(service, rosa, rehearsal, question=QUESTION)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        for frame in ({"type": "let_go"}, {"type": "ask_again", "key": str(uuid.uuid4())}):
            await page.send({**frame, "turn": turn.pk})
            assert (await page.until("kept"))["questions"] == []
        await page.say("Good morning.")
        assert "opening" in page.kinds((await page.ending())["turn"])
    assert settled(rosa) == ["", ""]


async def test_the_kept_question_of_a_stranger_can_be_neither_asked_nor_let_go(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, otto = people.rosa, people.otto
    turn = await kept_turn(service, rosa, rehearsal)
    async with Page(service.socket_url, otto.sign_in(service.url)) as page:
        assert await offered(page) == []
        for frame in ({"type": "let_go"}, {"type": "ask_again", "key": str(uuid.uuid4())}):
            await page.send({**frame, "turn": turn.pk})
            assert (await page.until("kept", "accepted"))["questions"] == []
    assert (settled(rosa), otto.turns()) == ([""], [])


async def test_after_a_day_it_is_offered_no_more_and_stays_on_the_staffs_list(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await kept_turn(service, rosa, rehearsal)
    day = timedelta(hours=24, minutes=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        assert len(await offered(page)) == 1
        ended, held = turn.closed_at, turn.held_until
        assert ended is not None and held is not None
        in_database(
            lambda: Turn.objects.filter(pk=turn.pk).update(
                created_at=turn.created_at - day, closed_at=ended - day, held_until=held - day
            )
        )
        assert (await page.until("kept"))["questions"] == [], "an open page is told"
        await page.send({"type": "ask_again", "turn": turn.pk, "key": str(uuid.uuid4())})
        assert (await page.until("kept", "accepted"))["questions"] == []
    [stored] = rosa.turns()
    assert (stored.settled, stored.answered_by_id) == ("", None)


async def test_a_person_with_three_turns_under_way_is_told_so_and_the_question_stays_kept(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turn = await kept_turn(service, rosa, rehearsal)
    rehearsal.inject({"hang": "before_word"}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        for text in ("One.", "Two.", "Three."):
            await page.say(text)
            first = await page.until("accepted")
        await page.send({"type": "ask_again", "turn": turn.pk, "key": str(uuid.uuid4())})
        told = await page.until("problem")
        assert (told["code"], told["line"]) == (
            "not_now",
            "Let me come to your other words first. You can ask this again a bit later.",
        )
        await page.send({"type": "stop", "turn": first["turn"] - 2})
        await page.ending(first["turn"])
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        assert [one["turn"] for one in await offered(page)] == [turn.pk]


async def test_of_many_kept_questions_the_oldest_are_offered_first(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    turns = [await kept_turn(service, rosa, rehearsal, f"Question {number}?") for number in range(6)]
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        assert [one["turn"] for one in await offered(page)] == [turn.pk for turn in turns[:5]]
        await page.send({"type": "let_go", "turn": turns[0].pk})
        told = await page.until("kept")
    assert [one["turn"] for one in told["questions"]] == [turn.pk for turn in turns[1:]]
