"""The desk's socket: who is here, who is typing, who is found, and the bounds of a screen (S2, S10)."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from companion import drafts
from companion.models import Visit
from ops.models import AuditEntry
from ops.stack.postgres import EmbeddedPostgres
from ops.supervision.people import WRITING_S
from tests.desk_socket import Desk, sign_staff_in
from tests.machines import open_browser
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.supervised import ring


async def test_the_hello_says_who_is_here_and_changes_follow(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, otto = people.rosa, people.otto
    cookie = rosa.sign_in(service.url)
    otto.sign_in(service.url)
    async with Desk.sign_in(service, people, people.add_sam()) as desk:
        [item] = desk.hello["people"]
        assert (item["name"], item["conversation"], item["turn"]) == ("Rosa", rosa.conversation.pk, "idle")
        assert desk.hello["user"]["operator"] is False
        async with Page(service.socket_url, cookie) as page:
            await desk.person(rosa.conversation.pk, page_open=True)
            rehearsal.inject({"pieces": ["word "] * 100, "pace_ms": 50}, times=1)
            await page.say("Good morning.")
            await desk.person(rosa.conversation.pk, turn="being_answered")
            await page.ending()
            await desk.person(rosa.conversation.pk, turn="idle")
    assert not any(
        item["participant"] == otto.row.pk
        for frame in desk.frames
        for item in frame.get("changed") or frame.get("people") or ()
    )


async def test_odd_frames_are_refused_in_one_frame_each_and_the_screen_stays_open(
    service: Web, people: People
) -> None:
    async with Desk.sign_in(service, people, people.add_sam()) as desk:
        for odd, code in (
            ("", "bad_frame"),
            ("[]", "bad_frame"),
            ("null", "bad_frame"),
            ("[" * 5_000, "bad_frame"),
            ('{"type":"sing"}', "bad_frame"),
            ('{"type":"ping","text":"' + "x" * 70_000 + '"}', "too_long"),
        ):
            await desk.send(odd)
            assert (await desk.until("problem"))["code"] == code
        for bad in (
            {"type": "accept", "flag": "12"},
            {"type": "accept", "flag": 2**63},
            {"type": "accept", "flag": True},
            {"type": "close", "flag": 1, "outcome": "fine", "note": "x"},
            {"type": "say", "conversation": 1, "key": "k", "text": "x"},
            {"type": "pause", "scope": "planet", "reason": "x"},
            {"type": "end_visit", "visit": "x"},
        ):
            await desk.send(bad)
            refused = await desk.until("refused")
            assert (refused["act"], refused["code"]) == (bad["type"], "bad_frame")
        await desk.send({"type": "ping"})
        await desk.until("pong")


async def test_one_member_of_staff_who_floods_is_slowed_and_a_colleague_is_answered(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    flag = await ring(database, rosa)
    async with (
        Desk.sign_in(service, people, sam) as flooding,
        Desk.sign_in(service, people, mira) as calm,
    ):
        for _ in range(150):
            await flooding.send({"type": "accept", "flag": 2**40})
        began = time.monotonic()
        assert (await calm.act("accept", flag=flag))["type"] == "done"
        assert time.monotonic() - began < 5
        await flooding.until("refused", where=lambda frame: frame["code"] == "too_fast")


async def test_one_member_of_staff_has_a_bounded_number_of_screens(service: Web, people: People) -> None:
    cookie = sign_staff_in(service, people, people.add_sam())
    desks = [Desk(service, cookie) for _ in range(20)]
    try:
        for desk in desks:
            await desk.__aenter__()
        one_more: Any = Desk(service, cookie)
        with pytest.raises(Exception, match="4403"):
            await one_more.__aenter__()
    finally:
        for desk in desks:
            await desk.__aexit__()


async def test_people_are_found_by_name_at_ones_own_sites_and_the_search_is_on_record(
    service: Web, people: People
) -> None:
    sam = people.add_sam()
    rosa = people.add_participant("Rosalind")
    people.add_participant("Rosamund", site=people.elsewhere)
    async with Desk.sign_in(service, people, sam) as desk:
        found = (await desk.act("search", text="ROSAL"))["people"]
        assert [one["conversation"] for one in found] == [rosa.conversation.pk]
        assert [one["name"] for one in (await desk.act("search", text="rosa"))["people"]] == ["Rosalind"]
        by_site = (await desk.act("search", text=people.site.name))["people"]
        assert rosa.conversation.pk in {one["conversation"] for one in by_site}
        assert (await desk.act("search", text="r"))["code"] == "search_short"
    entries = in_database(
        lambda: list(AuditEntry.objects.filter(who=sam.get_username(), what="searched_people").order_by("id"))
    )
    assert [entry.note for entry in entries] == ["1 found", "1 found", "1 found"]


async def test_what_each_side_types_shows_as_is_writing_on_every_process_and_never_as_text(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(neighbour, people, people.add_sam()) as desk,
    ):
        await desk.take_over(conversation)
        await page.until("person")
        await page.send({"type": "writing"})
        assert await desk.until("writing") == {"type": "writing", "conversation": conversation}
        await desk.person(conversation, turn="writing")
        await desk.send({"type": "writing", "conversation": conversation})
        typing = await page.until("person_writing")
        assert set(typing) == {"type", "line"}


async def test_a_message_that_was_sent_ends_that_its_writer_is_writing(service: Web, people: People) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    sam = sign_staff_in(service, people, people.add_sam())
    async with Page(service.socket_url, cookie) as page, Desk(service, sam) as desk:
        await desk.act("take_over", conversation=conversation)
        await page.until("person")
        await page.send({"type": "writing"})
        in_database(lambda: store_draft(rosa, "I am"))
        await desk.person(conversation, turn="writing")
        await page.say("I am here.")
        # The page saves its empty box, too.
        in_database(lambda: store_draft(rosa, ""))
        # Within less than the time that typing is shown for.
        async with asyncio.timeout(WRITING_S - 2):
            await desk.person(conversation, turn="idle")


async def test_the_desk_shows_within_seconds_that_a_screen_is_locked_and_that_it_is_not_any_more(
    service: Web, people: People
) -> None:
    rosa, browser = people.rosa, open_browser(service)
    browser.post("/card/", code=rosa.card.code)
    async with Desk(service, sign_staff_in(service, people, people.add_sam())) as desk:
        browser.post("/chat/lock/", proof="x")
        await desk.person(rosa.conversation.pk, locked=True)
        browser.post("/locked/", code=rosa.card.code)
        await desk.person(rosa.conversation.pk, locked=False)


def store_draft(person: Person, text: str) -> None:
    visit = Visit.objects.filter(participant=person.row, ended_at=None).latest("opened_at")
    assert drafts.save(visit.pk, conversation=person.conversation.pk, text=text)


async def wait_for_blocked(database: EmbeddedPostgres, statement: str) -> None:
    """Wait until a statement that begins so waits for a lock."""
    asked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND btrim(query, E' \\n') LIKE %s"
    async with (
        asyncio.timeout(20),
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as connection,
    ):
        while await (await connection.execute(asked, [f"{statement}%"])).fetchone() is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_screen_that_opens_while_the_last_one_leaves_is_kept_up_to_date(
    another_web: Callable[..., Web], people: People, database: EmbeddedPostgres
) -> None:
    web, rosa = another_web(), people.rosa
    cookie = sign_staff_in(web, people, people.add_sam())
    desk = Desk(web, cookie)
    async with await psycopg.AsyncConnection.connect(database.url) as blocker:
        async with Desk(web, cookie):
            await blocker.execute("LOCK TABLE ops_deskprocess IN SHARE ROW EXCLUSIVE MODE")
            await wait_for_blocked(database, "INSERT INTO ops_deskprocess")
        await wait_for_blocked(database, "DELETE FROM ops_deskprocess")
        opening = asyncio.create_task(desk.__aenter__())
        await wait_for_blocked(database, "INSERT INTO ops_deskprocess")
        await blocker.rollback()
        await opening
    rosa.sign_in(web.url)
    await desk.person(rosa.conversation.pk, name="Rosa")
    await desk.connection.close()
