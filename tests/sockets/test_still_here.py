"""Where no word has come after some seconds, a drafted line says that he is still there (T17)."""

from collections.abc import Callable

from tests.page_socket import Page
from tests.people import People
from tests.processes import Rehearsal, Web

STILL_HERE = "I am still here. I need a bit more time to answer you."
SHORTLY = {"COMPANION_STILL_HERE_S": "1"}


async def test_the_line_is_said_once_before_the_first_word_and_is_no_part_of_the_reply(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web, rosa = another_web(**SHORTLY), people.rosa
    rehearsal.inject({"first_word_s": 2.5}, times=1)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Are you there?")
        ending = await page.ending()
        assert page.kinds(ending["turn"]) == ["accepted", "still_here", "words", "complete"]
        [said] = [frame for frame in page.frames if frame["type"] == "still_here"]
        assert said == {"type": "still_here", "turn": ending["turn"], "line": STILL_HERE}
        await page.say("And now?")
        assert page.kinds((await page.ending())["turn"]) == ["accepted", "words", "complete"]
    stored = rosa.turns()[0]
    assert (stored.line, [one["kind"] for one in stored.openings]) == ("", ["disclosure"])
    assert STILL_HERE not in stored.reply
    assert STILL_HERE not in str(rehearsal.list_requests())


async def test_attempts_that_fail_count_from_the_admission_on(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web = another_web(**SHORTLY, COMPANION_TURN_BUDGET_S="20")
    rehearsal.inject({"status": 429, "headers": {"Retry-After": "2"}}, times=1)
    async with Page(web.socket_url, people.rosa.sign_in(web.url)) as page:
        await page.say("Are you there?")
        ending = await page.ending()
    assert page.kinds(ending["turn"]) == ["accepted", "still_here", "words", "complete"]


async def test_a_reload_and_a_second_tab_on_another_process_see_it_too(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web, beside = another_web(**SHORTLY), another_web(**SHORTLY)
    rehearsal.inject({"first_word_s": 4}, times=1)
    cookie = people.rosa.sign_in(web.url)
    async with Page(web.socket_url, cookie) as page, Page(beside.socket_url, cookie) as second:
        await second.next()
        await page.say("Are you there?")
        turn = (await page.until("still_here"))["turn"]
        assert (await second.until("still_here"))["line"] == STILL_HERE
        async with Page(beside.socket_url, cookie) as reopened:
            [snapshot] = (await reopened.next())["conversation"]["turns"]
            assert (snapshot["state"], snapshot["line"]) == ("speaking", STILL_HERE)
            assert (await reopened.ending())["type"] == "complete"
            assert reopened.kinds(turn) == ["words", "complete"]
        await second.ending()
        assert second.kinds(turn) == ["accepted", "still_here", "words", "complete"]
    async with Page(beside.socket_url, cookie) as page:
        [snapshot] = (await page.next())["conversation"]["turns"]
        assert (snapshot["state"], snapshot["line"]) == ("complete", "")


async def test_a_reply_that_begins_in_time_is_never_said_to_be_on_its_way(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web = another_web(**SHORTLY)
    rehearsal.inject({"words": 30, "pace_ms": 80}, times=1)
    async with Page(web.socket_url, people.rosa.sign_in(web.url)) as page:
        await page.say("Tell me about the sea.")
        ending = await page.ending()
    assert page.kinds(ending["turn"]) == ["accepted", "words", "complete"]
