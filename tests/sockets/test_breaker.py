"""The breaker over real HTTP, before the real service: five scenarios, and what happens around them (B1 to B6)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from companion.models import Turn
from tests.lanes import Lanes
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, Person
from tests.processes import Web

AnotherWeb = Callable[..., Web]
LIMITED: dict[str, Any] = {"status": 429, "error": "rate_limit"}


class Asker:
    """One person after another asks one question each, so that no person waits for their own earlier turn."""

    def __init__(self, web: Web, people: People) -> None:
        self._web = web
        self._people = people

    async def ask(self, web: Web | None = None) -> Turn:
        """Ask, read to the end, and return the turn as stored."""
        person = self._people.add_participant("Rosa")
        return await ask(web or self._web, person)


async def ask(web: Web, person: Person) -> Turn:
    async with Page(web.socket_url, person.sign_in(web.url)) as page:
        await page.say("Good day.")
        ending = await page.ending(within_s=40)
    [row] = [turn for turn in person.turns() if turn.pk == ending["turn"]]
    return row


@pytest.fixture
def asker(web: Web, people: People) -> Asker:
    return Asker(web, people)


def asked(lanes: Lanes) -> tuple[int, int]:
    """How often the head and the backup were called."""
    return len(lanes.primary.list_requests()), len(lanes.backup.list_requests())


async def opened(asker: Asker, lanes: Lanes) -> None:
    """Three refusals for too many requests, over two turns, open the head's breaker."""
    lanes.primary.inject(LIMITED)
    assert (await asker.ask()).lane == lanes.second
    assert (await asker.ask()).lane == lanes.second
    await until(lambda: (row := lanes.breaker()) is not None and row.state == "open")


async def test_while_the_head_is_fine_the_backup_is_never_asked(asker: Asker, lanes: Lanes) -> None:
    turns = [await asker.ask() for _ in range(3)]
    assert {turn.lane for turn in turns} == {lanes.head}
    assert [turn.skipped for turn in turns] == [[], [], []]
    assert asked(lanes) == (3, 0)
    assert lanes.breaker() is None


async def test_three_refusals_for_too_many_requests_open_it_and_no_participant_notices(
    asker: Asker, lanes: Lanes
) -> None:
    await opened(asker, lanes)
    assert asked(lanes) == (3, 2)
    row = lanes.breaker()
    assert row is not None
    assert (row.state, row.last_failure, row.openings) == ("open", "rate_limited", 1)


async def test_a_malformed_request_surfaces_at_once_and_moves_nothing(asker: Asker, lanes: Lanes) -> None:
    lanes.primary.inject({"status": 400, "error": "bad_request"})
    turns = [await asker.ask() for _ in range(4)]
    assert {(turn.state, turn.reason) for turn in turns} == {("paused", "bad_request")}
    assert asked(lanes) == (4, 0)
    assert lanes.breaker() is None


async def test_an_open_lane_is_never_called_by_any_process_and_the_turn_says_why(
    asker: Asker, lanes: Lanes, another_web: AnotherWeb
) -> None:
    settings = {**lanes.write_settings(), "COMPANION_BREAKER_COOLDOWN_S": "60"}
    webs = [another_web(**settings), another_web(**settings)]
    lanes.primary.inject(LIMITED)
    for _ in range(2):
        await asker.ask(webs[0])
    await until(lambda: (row := lanes.breaker()) is not None and row.state == "open")
    await until(lambda: "to=open" in webs[1].log_text)
    before = asked(lanes)[0]
    turns = [await asker.ask(web) for web in webs for _ in range(3)]
    assert asked(lanes)[0] == before == 3
    assert {turn.lane for turn in turns} == {lanes.second}
    for turn in turns:
        [skipped] = turn.skipped
        assert (skipped["lane"], skipped["why"], skipped["tried"]) == (lanes.head, "open", False)
    assert f"skipped={lanes.head}:open" in webs[1].log_text


async def test_when_its_time_is_up_one_probe_closes_it_and_the_head_serves_again(
    asker: Asker, lanes: Lanes
) -> None:
    await opened(asker, lanes)
    lanes.clear()
    await lanes.wait_until_cooled_down()
    assert (await asker.ask()).lane == lanes.head
    await until(lambda: (row := lanes.breaker()) is not None and row.state == "closed")
    assert (await asker.ask()).lane == lanes.head
    assert asked(lanes) == (2, 0)


async def test_a_probe_that_fails_keeps_it_open_for_longer_and_its_turn_is_served_all_the_same(
    asker: Asker, lanes: Lanes
) -> None:
    await opened(asker, lanes)
    await lanes.wait_until_cooled_down()
    before = asked(lanes)[0]
    turn = await asker.ask()
    assert (turn.state, turn.lane) == ("complete", lanes.second)
    assert asked(lanes)[0] == before + 1
    await until(lambda: (row := lanes.breaker()) is not None and row.openings == 2)


async def test_a_stream_that_opens_and_always_dies_in_the_middle_opens_it(asker: Asker, lanes: Lanes) -> None:
    lanes.primary.inject({"cut": "fin", "after": 5})
    paused = [await asker.ask() for _ in range(3)]
    assert {turn.state for turn in paused} == {"paused"}
    await until(lambda: (row := lanes.breaker()) is not None and row.state == "open")
    assert (await asker.ask()).lane == lanes.second


async def test_with_every_lane_open_the_soonest_to_recover_is_tried_and_marked(
    asker: Asker, lanes: Lanes
) -> None:
    lanes.primary.inject({"status": 429, "error": "insufficient_quota"}, times=1)
    lanes.backup.inject({"status": 429, "error": "insufficient_quota"}, times=1)
    first = await asker.ask()
    assert (first.state, first.reason) == ("paused", "quota")
    turn = await asker.ask()
    assert turn.state == "complete"
    assert [(one["lane"], one["tried"]) for one in turn.skipped] == [
        (lanes.head, True),
        (lanes.second, False),
    ]


async def test_stopping_a_turn_counts_as_no_failure(web: Web, lanes: Lanes, people: People) -> None:
    lanes.primary.inject({"hang": "before_word"})
    for _ in range(4):
        person = people.rosa
        async with Page(web.socket_url, person.sign_in(web.url)) as page:
            await page.say("Good day.")
            turn = (await page.until("accepted"))["turn"]
            await until(lambda: lanes.primary.read_gauge()["in_flight"] == 1)
            await page.send({"type": "stop", "turn": turn})
            assert (await page.ending())["type"] == "stopped"
    assert lanes.breaker() is None
    assert asked(lanes) == (4, 0)


async def test_the_messages_wire_stands_behind_the_same_breaker(
    another_web: AnotherWeb, lanes: Lanes, people: People
) -> None:
    asker = Asker(another_web(**lanes.write_settings(adapter="anthropic")), people)
    lanes.clear()
    assert (await asker.ask()).lane == lanes.head
    lanes.primary.inject({"status": 529, "error": "anthropic_overloaded"})
    for _ in range(2):
        assert (await asker.ask()).lane == lanes.second
    await until(lambda: (row := lanes.breaker()) is not None and row.state == "open")
    row = lanes.breaker()
    assert row is not None and row.last_failure == "overloaded"


async def test_people_wait_for_the_lane_they_will_get_while_the_head_is_open(
    another_web: AnotherWeb, lanes: Lanes, people: People
) -> None:
    web = another_web(**{**lanes.write_settings(second_takes=2), "COMPANION_BREAKER_COOLDOWN_S": "60"})
    lanes.clear()
    await opened(Asker(web, people), lanes)
    lanes.backup.clear()
    turns = await asyncio.gather(*(ask(web, people.add_participant(f"P{n}")) for n in range(6)))
    # The lower limit of the next lane refuses no turn: they wait for it.
    assert {turn.state for turn in turns} == {"complete"}
    assert lanes.backup.read_gauge()["max_in_flight"] == 2


async def test_after_a_probe_the_crowd_comes_back_bit_by_bit_and_no_turn_waits_for_it(
    another_web: AnotherWeb, lanes: Lanes, people: People
) -> None:
    web = another_web(**lanes.write_settings(head_takes=100, second_takes=100))
    lanes.clear()
    asker = Asker(web, people)
    await opened(asker, lanes)
    cast = [people.add_participant(f"P{number}") for number in range(16)]
    lanes.primary.clear()
    await lanes.wait_until_cooled_down()
    assert (await asker.ask()).lane == lanes.head
    await until(lambda: (row := lanes.breaker()) is not None and row.state == "closed")
    lanes.primary.inject({"pace_ms": 30, "words": 200})
    turns = await asyncio.gather(*(ask(web, person) for person in cast))

    row = lanes.breaker()
    assert row is not None
    assert {turn.state for turn in turns} == {"complete"}
    since = [one["at"] - row.changed_at.timestamp() for one in lanes.primary.list_requests()[1:]]
    assert all(number <= 2 << int(max(0.0, at) + 0.5) for number, at in enumerate(sorted(since), start=1))
