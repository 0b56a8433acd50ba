"""Easy words: the prompt asks for them, the turn stores that it did, and `hello` tells the page how it looks (A6)."""

import asyncio
import uuid

from companion.needs import store
from personas.load import DEFAULT, load
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web

ES = load(DEFAULT.with_name("robin.es.toml"))


async def test_the_prompt_of_a_person_with_easy_words_asks_for_them_and_the_turn_says_so(
    service: Web, rehearsal: Rehearsal, people: People
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Good morning.")
        await page.ending()
        usual = rehearsal.list_requests()[-1]["messages"][0]["content"]
        in_database(lambda: store.change_needs(rosa.row.pk, {"easy_words": True}))
        await page.say("And now?")
        assert (await page.ending())["type"] == "complete"
    easy = rehearsal.list_requests()[-1]["messages"][0]["content"]

    first, second = rosa.turns()
    assert (first.easy_words, second.easy_words) == (False, True)
    assert first.persona_version == second.persona_version
    assert easy.startswith(usual) and "short, easy sentences" in easy[len(usual) :]


async def test_a_change_of_needs_reaches_the_open_pages_of_this_person_within_a_second_on_every_process(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa, ana = people.rosa, people.add_participant("Ana")
    async with (
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
        Page(neighbour.socket_url, ana.sign_in(neighbour.url)) as other,
    ):
        hello = await page.next()
        await other.next()
        in_database(lambda: store.change_needs(rosa.row.pk, {"contrast": "strong", "idle_factor": 10}))
        async with asyncio.timeout(1):
            frame = await page.until("look")
        assert frame["look"] == {"contrast": "strong", "words": "whole"} and frame["language"] == "en"
        assert frame["idle"]["after_s"] == 10 * hello["idle"]["after_s"]

        in_database(lambda: store.change_needs(ana.row.pk, {"language": "es"}))
        assert (await other.until("look"))["language"] == "es"
        await other.send({"type": "say", "key": str(uuid.uuid4()), "text": ""})
        assert (await other.until("problem"))["line"] == ES.lines.nothing_written


async def test_hello_carries_the_look_that_is_recorded_and_an_empty_one_without_a_record(
    service: Web, people: People
) -> None:
    rosa, ana = people.rosa, people.add_participant("Ana")
    in_database(lambda: store.change_needs(rosa.row.pk, {"contrast": "strong"}))

    looks = []
    for person in (rosa, ana):
        async with Page(service.socket_url, person.sign_in(service.url)) as page:
            looks.append((await page.next())["conversation"]["look"])

    assert looks == [{"contrast": "strong", "words": "whole"}, {}]
