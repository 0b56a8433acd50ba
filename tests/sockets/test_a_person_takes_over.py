"""A member of staff takes over and hands back: who speaks, in which order, and what each page is sent (S4)."""

import asyncio

from companion.supervision.take_overs import HeldBy, TookOver
from ops.stack.postgres import EmbeddedPostgres
from tests.page_socket import Page
from tests.people import People
from tests.processes import Rehearsal, Web
from tests.supervised import JO, Supervisor


async def test_a_take_over_ends_the_reply_under_way_and_no_word_follows_the_person(
    service: Web, neighbour: Web, rehearsal: Rehearsal, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with (
        Page(service.socket_url, cookie) as page,
        Page(neighbour.socket_url, cookie) as other,
        Supervisor(database.url, rosa) as sam,
    ):
        rehearsal.inject({"pieces": ["Once", *[" upon"] * 200], "pace_ms": 50}, times=1)
        await page.say("Tell me a long story.")
        turn = (await page.until("words"))["turn"]
        await other.until("words")
        taken = await sam.take_over()
        assert isinstance(taken, TookOver) and [closed.turn for closed in taken.closed] == [turn]
        for tab in (page, other):
            joined = await tab.until("person")
            assert joined["state"] == "joins" and joined["name"] == "Sam"
            kinds = tab.kinds()
            assert kinds.index("handed_over") < kinds.index("person")
            ending = next(frame for frame in tab.frames if frame["type"] == "handed_over")
            assert ending["seq"] == max(frame["seq"] for frame in tab.frames if frame["type"] == "words")
        [stored] = rosa.turns()
        assert (stored.state, stored.reason, stored.reply) == ("handed_over", "person", page.words(turn))


async def test_both_write_while_the_person_is_there_and_the_order_survives_a_reload(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as page, Supervisor(database.url, rosa) as sam:
        await sam.take_over()
        await page.until("person")
        first = await sam.say("Hello, this is Sam.")
        said = await page.until("said")
        assert (said["id"], said["name"], said["from"]) == (first, "Sam", "person")
        key = await page.say("Hello Sam.")
        accepted = await page.until("accepted")
        assert accepted["key"] == key
        assert (await page.ending(accepted["turn"]))["type"] == "handed_over"
        await sam.say("How are you?")
        await page.until("said")
        await sam.hand_back()
        left = await page.until("person")
        assert left["state"] == "leaves"
        async with Page(service.socket_url, cookie) as reloaded:
            conversation = (await reloaded.next())["conversation"]
            assert conversation["person"] is None
            order = [item.get("kind") or item["state"] for item in conversation["turns"]]
            assert order == ["joins", "said", "handed_over", "said", "leaves"]
        await page.say("Are you there?")
        assert (await page.ending())["type"] == "complete"


async def test_of_two_members_of_staff_one_takes_over_and_the_other_reads_the_name(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    async with (
        Supervisor(database.url, rosa) as sam,
        Supervisor(database.url, rosa, staff=JO, name="Jo") as jo,
    ):
        taken = await asyncio.gather(sam.take_over(), jo.take_over())
        assert sorted(type(one).__name__ for one in taken) == ["HeldBy", "TookOver"]
        [held] = [one for one in taken if isinstance(one, HeldBy)]
        owner = "Sam" if isinstance(taken[0], TookOver) else "Jo"
        assert held.name == owner
