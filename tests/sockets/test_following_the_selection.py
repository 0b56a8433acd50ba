"""A change of preset reaches the next turn and no other; marks and regions hold whatever is selected (R4, R8, R9)."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from companion.models import Process, Site
from tests.lanes import Lanes
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Web

AnotherWeb = Callable[..., Web]
REDUCED = "I may not answer as well as usual today."
SLOW = {"pace_ms": 30, "words": 80}


async def until_served(web: Web, version: int) -> None:
    """Until this process serves so high a version."""
    await until(lambda: f"routing_store.selected version={version} " in web.log_text)


async def test_ten_turns_finish_where_they_started_and_the_eleventh_uses_the_new_head(
    web: Web, lanes: Lanes, people: People
) -> None:
    lanes.primary.inject(SLOW)
    cast = [people.add_participant(f"P{number}") for number in range(10)]
    cookies = [person.sign_in(web.url) for person in cast]
    pages = [Page(web.socket_url, cookie) for cookie in cookies]
    await asyncio.gather(*(page.__aenter__() for page in pages))
    try:
        for page in pages:
            await page.say("Good day.")
        await asyncio.gather(*(page.until("words") for page in pages))
        chosen = lanes.select(lanes.pin)
        await until_served(web, chosen.version)
        eleventh = people.rosa
        async with Page(web.socket_url, eleventh.sign_in(web.url)) as page:
            await page.say("Good day.")
            assert (await page.ending())["type"] == "complete"
        assert lanes.primary.read_gauge()["in_flight"] == 10, "the ten are still being answered"
        endings = await asyncio.gather(*(page.ending() for page in pages))
    finally:
        await asyncio.gather(*(page.__aexit__() for page in pages))
    assert {ending["type"] for ending in endings} == {"complete"}
    stored = [person.turns()[0] for person in cast]
    assert {(turn.lane, turn.preset) for turn in stored} == {(lanes.head, "normal")}
    [new] = eleventh.turns()
    assert (new.lane, new.preset, new.routing_version) == (lanes.second, lanes.pin, chosen.version)
    assert len(lanes.primary.list_requests()) == 10
    assert web.process.poll() is None


async def test_turns_that_wait_take_the_new_head(
    another_web: AnotherWeb, lanes: Lanes, people: People
) -> None:
    web = another_web(**lanes.write_settings(head_takes=1))
    lanes.clear()
    lanes.primary.inject({"pace_ms": 50, "words": 400}, times=1)
    first, second = people.rosa, people.add_participant("Ada")
    async with (
        Page(web.socket_url, first.sign_in(web.url)) as speaking,
        Page(web.socket_url, second.sign_in(web.url)) as waiting,
    ):
        await speaking.say("A long one.")
        turn = (await speaking.until("words"))["turn"]
        await waiting.say("Good day.")
        await waiting.until("waiting")
        lanes.select(lanes.pin)
        # The head is still busy with the long one, and will be for twenty seconds.
        assert (await waiting.ending(within_s=8))["type"] == "complete"
        # Or the process would wait for it when it is told to leave.
        await speaking.send({"type": "stop", "turn": turn})
        await speaking.ending(turn)
    assert second.turns()[0].lane == lanes.second


async def test_the_reduced_line_is_said_once_in_a_conversation_and_each_selection_and_every_turn_is_marked(
    web: Web, lanes: Lanes, people: People
) -> None:
    rosa, ada = people.rosa, people.add_participant("Ada")
    chosen = lanes.select(lanes.reduced)
    await until_served(web, chosen.version)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        for _ in range(2):
            await page.say("Good day.")
            await page.ending()
        assert [(f["kind"], f["line"]) for f in page.frames if f["type"] == "opening"] == [
            ("reduced", REDUCED)
        ]
    async with Page(web.socket_url, ada.sign_in(web.url)) as page:
        await page.say("Good day.")
        await page.ending()
        assert page.kinds()[-3:] == ["opening", "words", "complete"]
    assert [turn.marked for turn in rosa.turns() + ada.turns()] == [True, True, True]
    again = lanes.select(lanes.reduced)
    await until_served(web, again.version)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("And now?")
        await page.ending()
        assert "opening" in page.kinds()
    back = lanes.select("normal")
    await until_served(web, back.version)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("And now?")
        await page.ending()
        assert "opening" not in page.kinds()
    assert [turn.marked for turn in rosa.turns()] == [True, True, True, False]
    assert REDUCED not in str(lanes.primary.list_requests()) + str(lanes.backup.list_requests())


def with_a_marked_second(lanes: Lanes) -> dict[str, str]:
    settings = lanes.write_settings()
    file, named = Path(settings["COMPANION_ROUTING"]), f"[lanes.{lanes.second}]\n"
    file.write_text(file.read_text().replace(named, f'{named}marking = "reduced"\n'))
    return settings


async def test_the_mark_and_the_line_follow_the_lane_that_answered_whatever_preset_led_to_it(
    another_web: AnotherWeb, lanes: Lanes, people: People
) -> None:
    web = another_web(**with_a_marked_second(lanes))
    lanes.clear()
    rosa = people.rosa
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Good day.")
        await page.ending()
        assert "opening" not in page.kinds()
        lanes.primary.inject({"status": 429, "error": "insufficient_quota"}, times=1)
        for _ in range(2):
            await page.say("And now?")
            await page.ending()
        said = [(frame["kind"], frame["line"]) for frame in page.frames if frame["type"] == "opening"]
    assert said == [("reduced", REDUCED)], "once, with the first reply of the marked lane"
    turns = [(turn.lane, turn.preset, turn.marked) for turn in rosa.turns()]
    assert turns == [
        (lanes.head, "normal", False),
        (lanes.second, "normal", True),
        (lanes.second, "normal", True),
    ]


async def test_what_was_held_is_still_answered_first_after_the_reduced_line(
    web: Web, lanes: Lanes, people: People
) -> None:
    rosa = people.rosa
    lanes.primary.inject({"cut": "fin", "after": 4}, times=1)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("What helps against fear?")
        assert (await page.ending())["type"] == "paused"
        chosen = lanes.select(lanes.reduced)
        await until_served(web, chosen.version)
        await page.say("hello?")
        await page.ending()
        kinds = [frame["kind"] for frame in page.frames if frame["type"] == "opening"]
    assert kinds == ["reduced", "i_am_back"]


async def test_a_site_with_regions_is_never_served_from_a_lane_outside_them(
    web: Web, lanes: Lanes, people: People
) -> None:
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(regions=["eu"]))
    rosa = people.rosa
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Good day.")
        assert (await page.ending())["type"] == "complete"
        lanes.backup.inject({"status": 503})
        await page.say("And now?")
        assert (await page.ending())["type"] == "paused"
    assert [turn.lane for turn in rosa.turns()] == [lanes.second, lanes.second]
    assert lanes.primary.list_requests() == []


async def test_where_a_region_leaves_no_lane_the_turn_pauses_says_so_and_calls_no_provider(
    web: Web, lanes: Lanes, people: People
) -> None:
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(regions=["mars"]))
    rosa = people.rosa
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Good day.")
        assert (await page.ending())["type"] == "paused"
    [turn] = rosa.turns()
    assert (turn.state, turn.reason, turn.lane) == ("paused", "region", "")
    assert turn.held_until is not None
    assert lanes.primary.list_requests() == lanes.backup.list_requests() == []


async def test_a_region_is_kept_when_the_selection_goes_elsewhere(
    web: Web, lanes: Lanes, people: People
) -> None:
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(regions=["uk"]))
    chosen = lanes.select(lanes.pin)
    await until_served(web, chosen.version)
    rosa = people.rosa
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Good day.")
        assert (await page.ending())["type"] == "paused"
    assert rosa.turns()[0].reason == "region"
    assert lanes.backup.list_requests() == []


async def test_every_process_says_which_version_it_serves(web: Web, lanes: Lanes) -> None:
    chosen = lanes.select(lanes.pin)
    await until(lambda: in_database(lambda: Process.objects.filter(routing_version=chosen.version).exists()))
