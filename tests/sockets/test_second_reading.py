"""A lane may read each message again after it was stored. It may only raise a flag, and nothing waits for it (S1)."""

from collections.abc import Callable
from typing import Any

import pytest

from companion.models import Flag, Site
from ops.models import Alert
from tests.lanes import Lanes
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, Person, in_database
from tests.processes import Web

CALM = "I gave the cat to my neighbour and cleaned the flat."
AMBER = "I feel like a burden to everyone"
StartWeb = Callable[..., Web]


@pytest.fixture
def start(another_web: StartWeb, lanes: Lanes) -> StartWeb:
    """A web process whose second lane reads messages again, with replies by the first."""

    def start(**settings: str) -> Web:
        reads = {"COMPANION_SECOND_READING_LANE": lanes.second, "COMPANION_SECOND_READING_S": "1"}
        web = another_web(**lanes.write_settings(), **(reads | settings))
        lanes.clear()
        return web

    return start


def list_flags(person: Person) -> list[tuple[str, str, str]]:
    return in_database(
        lambda: list(
            Flag.objects.filter(conversation=person.conversation)
            .order_by("id")
            .values_list("tier", "source", "kind")
        )
    )


async def until_alert(about: str) -> None:
    alerts = Alert.objects.filter(kind="second_reading", about=about)
    await until(lambda: in_database(alerts.exists), within_s=20)


async def say(web: Web, person: Person, *texts: str) -> Page:
    async with Page(web.socket_url, person.sign_in(web.url)) as page:
        for text in texts:
            await page.say(text)
            await page.ending()
    return page


@pytest.mark.parametrize(
    ("text", "answer", "flags"),
    [
        (CALM, " Amber.", [("amber", "lane", "second_reading")]),
        (AMBER, "red", [("amber", "message", "burden"), ("red", "lane", "second_reading")]),
        (AMBER, "none", [("amber", "message", "burden")]),
        pytest.param(CALM, "red", [("red", "lane", "second_reading")], marks=pytest.mark.long),
        pytest.param(CALM, "none", [], marks=pytest.mark.long),
        pytest.param(AMBER, "amber", [("amber", "message", "burden")], marks=pytest.mark.long),
    ],
)
async def test_it_raises_what_the_rules_found_less_serious_and_lowers_nothing(
    start: StartWeb, lanes: Lanes, people: People, text: str, answer: str, flags: list[tuple[str, str, str]]
) -> None:
    web, rosa = start(), people.rosa
    lanes.backup.inject({"pieces": [answer]})
    page = await say(web, rosa, text)
    await until(lambda: lanes.backup.list_requests() and lanes.backup.read_gauge()["in_flight"] == 0)
    await until(lambda: list_flags(rosa) == flags)
    # One message, one question. The reply is as without it.
    [asked] = lanes.backup.list_requests()
    assert text in str(asked)
    assert page.kinds()[-2:] == ["words", "complete"]


async def test_a_red_message_is_not_sent_to_it_so_no_answer_can_lower_it(
    start: StartWeb, lanes: Lanes, people: People
) -> None:
    web, rosa = start(), people.rosa
    lanes.backup.inject({"pieces": ["none"]})
    page = await say(web, rosa, "I want to kill myself tonight.", "Thank you")
    assert "safety" in page.kinds()
    await until(lambda: len(lanes.backup.list_requests()) == 1)
    assert "kill" not in str(lanes.backup.list_requests())
    assert [(tier, source) for tier, source, _ in list_flags(rosa)] == [("red", "message")]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ({"hang": "before_byte"}, "too_slow"),
        ({"pieces": ["red ", *["very " for _ in range(200)]]}, "rubbish"),
        ({"status": 429}, "rate_limited"),
        pytest.param({"pieces": ["I would rather not say"]}, "rubbish", marks=pytest.mark.long),
        pytest.param({"pieces": ["red or perhaps amber"]}, "rubbish", marks=pytest.mark.long),
        pytest.param({"status": 500}, "server_error", marks=pytest.mark.long),
    ],
)
async def test_a_lane_that_fails_changes_nothing_and_operators_are_alerted(
    start: StartWeb, lanes: Lanes, people: People, fault: dict[str, Any], cause: str
) -> None:
    web, rosa = start(), people.rosa
    lanes.backup.inject(fault)
    page = await say(web, rosa, CALM)
    assert page.kinds()[-1] == "complete"
    await until_alert(f"lane {lanes.second}, {cause}")
    assert list_flags(rosa) == []


async def test_a_spent_budget_leaves_messages_out_and_says_so(
    start: StartWeb, lanes: Lanes, people: People
) -> None:
    web, rosa = start(COMPANION_SECOND_READING_CALLS="1"), people.rosa
    lanes.backup.inject({"pieces": ["none"]})
    await say(web, rosa, CALM, "And then I sat down.")
    await until_alert(f"lane {lanes.second}, budget")
    assert len(lanes.backup.list_requests()) == 1


async def test_a_message_never_leaves_the_regions_of_its_site(
    start: StartWeb, lanes: Lanes, people: People
) -> None:
    web, rosa = start(), people.rosa
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(regions=["uk"]))
    await say(web, rosa, CALM)
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(regions=[]))
    await say(web, people.otto, "Only this one may be read.")
    await until(lambda: len(lanes.backup.list_requests()) == 1)
    assert "Only this one" in str(lanes.backup.list_requests())


async def test_a_process_that_is_killed_while_it_asks_leaves_the_conversation_as_it_was(
    start: StartWeb, lanes: Lanes, people: People
) -> None:
    web, other, rosa = start(COMPANION_SECOND_READING_S="60"), start(), people.rosa
    lanes.backup.inject({"hang": "before_byte"}, times=1)
    await say(web, rosa, CALM)
    await until(lambda: len(lanes.backup.list_requests()) == 1)
    web.kill()
    lanes.backup.inject({"pieces": ["amber"]})
    page = await say(other, rosa, "Good evening")
    assert page.kinds()[-1] == "complete"
    await until(lambda: list_flags(rosa) == [("amber", "lane", "second_reading")])


async def test_without_the_setting_no_lane_is_asked(
    another_web: StartWeb, lanes: Lanes, people: People
) -> None:
    web = another_web(**lanes.write_settings())
    lanes.clear()
    await say(web, people.rosa, CALM)
    assert lanes.backup.list_requests() == []
    assert len(lanes.primary.list_requests()) == 1


def test_an_unknown_lane_stops_the_start(another_web: StartWeb, lanes: Lanes) -> None:
    with pytest.raises(AssertionError, match="COMPANION_SECOND_READING_LANE: no lane is called 'nobody'"):
        another_web(**lanes.write_settings(), COMPANION_SECOND_READING_LANE="nobody")
