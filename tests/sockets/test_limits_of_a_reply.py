"""What bounds a reply: its first word by the turn's time, what is spoken by its lane, its length by its lane."""

from collections.abc import Callable

import pytest

from tests.lanes import Lanes
from tests.page_socket import Page
from tests.people import People, get_attempts
from tests.processes import Web


async def test_a_silent_only_lane_is_left_in_time_for_another_attempt(
    another_web: Callable[..., Web], people: People, lanes: Lanes
) -> None:
    web, rosa = another_web(**lanes.write_settings(first_word_ms=1_000)), people.rosa
    lanes.select(lanes.pin)
    lanes.clear()
    lanes.backup.inject({"hang": "before_word", "pings_ms": 50}, times=1)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Are you there?")
        assert (await page.ending())["type"] == "complete"
    [turn] = rosa.turns()
    silent, answered = get_attempts(turn.pk)
    assert [(one.lane, one.failure) for one in (silent, answered)] == [
        (lanes.second, "first_word_timeout"),
        (lanes.second, ""),
    ]
    assert 1 <= silent.took_s < 10
    assert len(lanes.backup.list_requests()) == 2


async def test_a_reply_that_keeps_speaking_is_not_cut_when_the_time_for_its_first_word_is_over(
    another_web: Callable[..., Web], people: People, lanes: Lanes
) -> None:
    web, rosa = another_web(**lanes.write_settings(), COMPANION_TURN_BUDGET_S="5"), people.rosa
    lanes.primary.inject({"words": 14, "pace_ms": 500, "even": True}, times=1)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Tell me a long story.")
        assert (await page.ending())["type"] == "complete"
    [turn] = rosa.turns()
    [attempt] = get_attempts(turn.pk)
    assert attempt.took_s > 5
    assert len(turn.reply.split()) == 14


async def test_a_reply_that_outlasts_its_lanes_limit_pauses_under_that_name_and_counts_for_nothing(
    another_web: Callable[..., Web], people: People, lanes: Lanes
) -> None:
    web, rosa = another_web(**lanes.write_settings(reply_ms=1_000)), people.rosa
    lanes.primary.inject({"words": 1_000, "pace_ms": 100}, times=3)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        for text in ("Tell me a story.", "Another.", "And another."):
            await page.say(text)
            assert (await page.ending())["type"] == "paused"
    turns = rosa.turns()
    assert [turn.reason for turn in turns] == ["reply_timeout"] * 3
    assert all(turn.reply for turn in turns)
    assert [one.failure for turn in turns for one in get_attempts(turn.pk)] == ["reply_timeout"] * 3
    breaker = lanes.breaker()
    assert breaker is None or (breaker.state, breaker.strikes) == ("closed", [])


@pytest.mark.parametrize("adapter", ["openai", "anthropic"])
async def test_a_lane_is_asked_for_replies_of_its_own_length(
    another_web: Callable[..., Web], people: People, lanes: Lanes, adapter: str
) -> None:
    web, rosa = another_web(**lanes.write_settings(adapter=adapter, max_tokens=321)), people.rosa
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Good morning.")
        assert (await page.ending())["type"] == "complete"
    assert [asked["max_tokens"] for asked in lanes.primary.list_requests()] == [321]
