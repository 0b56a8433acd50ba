"""Coming back in the middle of a reply, here or on another process, and two tabs at once (T12)."""

import random
import uuid

import httpx
import pytest
from django.utils.timezone import now

from companion.models import Turn
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web


async def test_a_closed_tab_loses_nothing_and_reopening_shows_the_reply_whole(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as page:
        await page.say("Tell me about the sea.")
        words = await page.until("words")
    async with Page(service.socket_url, cookie) as page:
        hello = await page.next()
        [snapshot] = hello["conversation"]["turns"]
        assert snapshot["id"] == words["turn"]
        assert snapshot["question"] == "Tell me about the sea."
        if snapshot["state"] == "speaking":
            await page.ending()
        whole = snapshot["reply"] + page.words(words["turn"])
    [stored] = rosa.turns()
    assert stored.state == "complete"
    assert whole == stored.reply


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same process", "another process"])
async def test_a_reader_who_comes_back_gets_every_word_once_and_in_order(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal, elsewhere: bool
) -> None:
    rosa = people.rosa
    rehearsal.inject({"pace_ms": 15}, times=1)
    cookie = rosa.sign_in(service.url)
    after = neighbour if elsewhere else service
    async with Page(service.socket_url, cookie) as page:
        await page.say("Tell me about the hills.")
        turn = (await page.until("words"))["turn"]
        for _ in range(random.randrange(0, 12)):
            await page.until("words", "complete")
        seen, last = page.words(turn), page.frames[-1]["seq"]
    async with Page(after.socket_url, cookie) as page:
        hello = await page.next()
        [snapshot] = hello["conversation"]["turns"]
        assert snapshot["reply"].startswith(seen)
        assert snapshot["seq"] >= last
        if snapshot["state"] == "speaking":
            ending = await page.ending()
            assert ending["type"] == "complete"
        whole = snapshot["reply"] + page.words(turn)
    [stored] = rosa.turns()
    assert whole == stored.reply


async def test_two_tabs_on_two_processes_see_the_same_reply(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as one, Page(neighbour.socket_url, cookie) as two:
        await one.next()
        await two.next()
        key = await one.say("Hello from the first tab.")
        accepted = await two.until("accepted")
        assert accepted["key"] == key
        first, second = await one.ending(), await two.ending()
        assert first == second
        assert one.words(accepted["turn"]) == two.words(accepted["turn"])


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_catching_up_on_an_ended_turn_gives_the_same_pieces_and_its_ending(
    service: Web, people: People, after: int
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Tell me a little.")
        ending = await page.ending()
        pieces = [frame for frame in page.frames if frame["type"] == "words"]
        page.frames.clear()
        await page.send({"type": "catch_up", "turn": ending["turn"], "after": after})
        assert await page.ending() == ending
        again = [frame for frame in page.frames if frame["type"] == "words"]
    assert again == pieces[after:]


async def test_catching_up_in_the_middle_of_a_reply_goes_on_to_its_end(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"pace_ms": 15}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Tell me more.")
        for _ in range(5):
            turn = (await page.until("words"))["turn"]
        page.frames.clear()
        await page.send({"type": "catch_up", "turn": turn, "after": 2})
        while True:
            frame = await page.until("words")
            if frame["seq"] == 3:
                break
        page.frames[:] = [frame]
        await page.ending()
        [stored] = rosa.turns()
        assert stored.reply.endswith(page.words(turn))
        assert page.frames[-1]["seq"] == stored.seq


async def test_a_page_that_acknowledges_nothing_is_sent_no_more_than_two_hundred_pieces(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"pace_ms": 50, "words": 260}, times=1)
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie, acks=False) as page:
        await page.say("Tell me everything.")
        turn = (await page.until("accepted"))["turn"]
        while True:
            frame = await page.until("words")
            if frame["seq"] == 200:
                break
        async with Page(service.socket_url, cookie) as other:
            await other.next()
            await other.until("complete", within_s=30)
        await page.send({"type": "ack", "turn": turn, "seq": 200})
        ending = await page.ending()
    [stored] = rosa.turns()
    assert ending["seq"] == stored.seq > 200
    assert page.words(turn) == stored.reply


@pytest.mark.parametrize(("turns", "has_earlier"), [(50, False), (51, True)])
async def test_whether_there_is_more_before_is_known_and_not_guessed(
    service: Web, people: People, turns: int, has_earlier: bool
) -> None:
    rosa = people.rosa
    _have_said(rosa, turns)
    cookie = rosa.sign_in(service.url)

    async with Page(service.socket_url, cookie) as page:
        conversation = (await page.next())["conversation"]
    async with httpx.AsyncClient(
        base_url=service.url, cookies={"companion": cookie}, trust_env=False
    ) as browser:
        newer = (await browser.get(f"/chat/turns/?before={rosa.turns()[-1].pk + 1}")).json()

    assert conversation["earlier"] is newer["earlier"] is has_earlier
    assert len(conversation["turns"]) == len(newer["turns"]) == 50
    assert conversation["turns"][-1]["question"] == f"Question {turns}"


def _have_said(person: Person, turns: int) -> None:
    rows = [
        Turn(
            conversation=person.conversation,
            key=uuid.uuid4(),
            question=f"Question {number}",
            reply="Answer.",
            seq=1,
            state="complete",
            owner=uuid.uuid4(),
            wait_until=now(),
            closed_at=now(),
        )
        for number in range(1, turns + 1)
    ]
    in_database(lambda: Turn.objects.bulk_create(rows))
