"""A message sent twice is one turn and one call; one person's turns come one after the other (T13)."""

import asyncio
from collections.abc import Callable

from tests.page_socket import Page
from tests.people import People
from tests.processes import Rehearsal, Web


async def test_the_same_key_twice_is_one_turn_and_one_call(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        key = await page.say("Did you get this?")
        await page.say("Did you get this?", key)
        accepted = [await page.until("accepted"), await page.until("accepted")]
        await page.ending()
        await page.say("Did you get this?", key)
        accepted.append(await page.until("accepted"))
    assert len({frame["turn"] for frame in accepted}) == 1
    assert len(rosa.turns()) == 1
    assert len(rehearsal.list_requests()) == 1


async def test_the_same_key_sent_at_once_over_two_processes_is_one_turn(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as one, Page(neighbour.socket_url, cookie) as two:
        key = "6a1cf7a0-27d3-4b6c-9d2c-2d1c6b0f3a11"
        await asyncio.gather(one.say("Once only.", key), two.say("Once only.", key))
        turns = {(await one.until("accepted"))["turn"], (await two.until("accepted"))["turn"]}
        assert await one.ending() == await two.ending()
        assert one.words(min(turns)) == two.words(min(turns))
    assert len(turns) == len(rosa.turns()) == len(rehearsal.list_requests()) == 1


async def test_messages_sent_while_he_speaks_are_answered_in_order_one_at_a_time(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        for text in ("First.", "Second.", "Third."):
            await page.say(text)
        ended = [await page.ending() for _ in range(3)]
    assert [ending["type"] for ending in ended] == ["complete"] * 3
    stored = rosa.turns()
    assert [ending["turn"] for ending in ended] == [turn.pk for turn in stored]
    assert [turn.question for turn in stored] == ["First.", "Second.", "Third."]
    assert rehearsal.read_gauge()["max_in_flight"] == 1
    # Waiting for one's own earlier message is not a crowd, so nothing says that it is.
    assert "waiting" not in page.kinds()
    roles = [message["role"] for message in rehearsal.list_requests()[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]


async def test_a_message_behind_ones_own_earlier_one_is_not_refused_however_long_that_takes(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web = another_web(COMPANION_WAIT_CEILING_S="1")
    rehearsal.inject({"pace_ms": 50, "words": 50}, times=1)
    async with Page(web.socket_url, people.rosa.sign_in(web.url)) as page:
        await page.say("A long one.")
        await page.say("And another.")
        assert [(await page.ending())["type"] for _ in range(2)] == ["complete", "complete"]
