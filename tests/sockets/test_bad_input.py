"""Whatever a page sends, it gets one clear answer, and nothing is lost."""

import asyncio
import json

import httpx
import pytest
import websockets
from django.db.models.functions import Now

from companion.models import Participant, Site, Visit
from tests.page_socket import Page
from tests.people import People, finish_visit, in_database
from tests.processes import Rehearsal, Web

KEY = "6a1cf7a0-27d3-4b6c-9d2c-2d1c6b0f3a11"
PAST = "2026-01-01T00:00Z"


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("hello", "bad_frame"),
        (b"\x00\x01\x02", "bad_frame"),
        ('{"type":"shout"}', "bad_frame"),
        ('{"type":"say","text":"no key"}', "bad_frame"),
        (json.dumps({"type": "ping", "padding": "x" * 70_000}), "too_long"),
        (json.dumps({"type": "say", "key": KEY, "text": "a" * 200_000}), "too_long"),
        (json.dumps({"type": "say", "key": KEY, "text": "a" * 4_001}), "too_long"),
        (json.dumps({"type": "say", "key": KEY, "text": "  "}), "empty"),
        (json.dumps({"type": "say", "key": KEY, "text": "\u200b\u2800"}), "empty"),
        ('{"type":"stop","turn":1}', "not_allowed"),
        ('{"type":"catch_up","turn":1,"after":0}', "not_allowed"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
async def test_a_frame_that_cannot_be_acted_on_is_a_problem_and_the_socket_stays_open(
    service: Web, people: People, sent: str | bytes, code: str
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.next()
        await page.send(sent)
        problem = await page.next()
        assert (problem["type"], problem["code"]) == ("problem", code)
        assert problem["line"].endswith((".", "?"))
        await page.say("And now a good one.")
        assert (await page.ending())["type"] == "complete"


async def test_a_frame_far_beyond_any_message_closes_the_socket_and_not_the_service(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as page:
        await page.next()
        await page.send("x" * 1_000_000)
        assert await page.close_code() == 1009
    async with Page(service.socket_url, cookie) as page:
        assert (await page.next())["type"] == "hello"


async def test_the_turn_of_a_stranger_can_neither_be_read_nor_stopped(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, otto = people.rosa, people.otto
    rehearsal.inject({"pace_ms": 30}, times=1)
    async with (
        Page(service.socket_url, rosa.sign_in(service.url)) as hers,
        Page(service.socket_url, otto.sign_in(service.url)) as his,
    ):
        await his.next()
        await hers.say("This is mine.")
        turn = (await hers.until("words"))["turn"]
        for frame in ({"type": "catch_up", "turn": turn, "after": 0}, {"type": "stop", "turn": turn}):
            await his.send(frame)
            assert (await his.next())["code"] == "not_allowed"
        assert (await hers.ending())["type"] == "complete"
        await his.send({"type": "ping"})
        assert (await his.next())["type"] == "pong"


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "http://127.0.0.1:1", "about:blank"])
async def test_a_page_of_another_origin_gets_no_socket(service: Web, people: People, origin: str) -> None:
    cookie = people.rosa.sign_in(service.url)
    with pytest.raises(websockets.InvalidStatus) as refusal:
        async with Page(service.socket_url, cookie, origin=origin):
            pass
    assert refusal.value.response.status_code in {400, 403}


@pytest.mark.parametrize("cookie", ["", "nonsense", "a" * 32, "../../etc/passwd", '";drop'])
async def test_without_a_session_the_socket_says_that_it_has_ended(service: Web, cookie: str) -> None:
    async with Page(service.socket_url, cookie) as page:
        assert await page.close_code() == 4401


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"expires_at": PAST}, "expired"),
        ({"locked_at": Now()}, "idle"),
        ({"ended_at": PAST, "end_reason": "moved"}, "moved"),
    ],
    ids=["expired", "locked", "moved"],
)
@pytest.mark.parametrize(
    "frame", [{"type": "say", "text": "One more thing."}, {"type": "ask_again", "turn": 1}]
)
async def test_a_message_of_a_visit_that_is_over_is_told_why_and_stored_nowhere(
    service: Web, people: People, frame: dict[str, object], changes: dict[str, object], reason: str
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as page:
        await page.next()
        # The row alone: no notification tells the process.
        in_database(lambda: Visit.objects.filter(participant=rosa.row).update(**changes))
        await page.send({**frame, "key": KEY})
        assert await page.close_code(within_s=5) == 4401
    async with Page(service.socket_url, cookie) as again:
        assert await again.close_code() == 4401
    assert [page.frames[-1], again.frames[-1]] == [{"type": "over", "reason": reason}] * 2
    assert rosa.turns() == []


async def test_signing_out_anywhere_closes_every_socket_of_the_visit_at_once(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as one, Page(neighbour.socket_url, cookie) as two:
        await one.next()
        await two.next()
        finish_visit(service.url, cookie)
        codes = await asyncio.gather(one.close_code(within_s=2), two.close_code(within_s=2))
    assert set(codes) == {4401}


async def test_a_card_of_a_closed_site_opens_nothing_and_says_so(service: Web, people: People) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(is_open=False))
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as browser:
        headers = {"Origin": service.url}
        answer = await browser.post("/card/", data={"code": rosa.card.code}, headers=headers)
        assert answer.status_code == 403
        assert "The chat is closed now." in answer.text
        assert "companion" not in browser.cookies
    async with Page(service.socket_url, cookie) as page:
        assert await page.close_code() == 4401


@pytest.mark.parametrize("card", ["nonsense", "abcdef-abcdef-abcdef", "%00", "a" * 3000])
async def test_an_unknown_card_is_answered_kindly(service: Web, card: str) -> None:
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as browser:
        answer = await browser.post("/card/", data={"code": card}, headers={"Origin": service.url})
    assert answer.status_code == 403
    assert "This card or code does not work here." in answer.text
    assert "Traceback" not in answer.text


async def test_a_new_card_makes_the_old_one_useless(service: Web, people: People) -> None:
    rosa = people.rosa
    in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).update(card_issue=2))
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as browser:
        headers = {"Origin": service.url}
        answer = await browser.post("/card/", data={"code": rosa.card.code}, headers=headers)
        assert answer.status_code == 403
