"""Flags, screens of staff and take-overs while PostgreSQL, Valkey or a process of staff is away (S1, S2, S4, T11)."""

import asyncio
import signal
import uuid
from collections.abc import Callable
from pathlib import Path

import psycopg

from companion.models import Control, Site, TranscriptEntry
from companion.supervision.causes import FlagCause
from companion.supervision.flags import RAISE_FLAG, flag_parameters
from companion.supervision.states import FlagSource, FlagTier
from ops.stack.postgres import EmbeddedPostgres
from ops.stack.valkey import EmbeddedValkey
from tests.desk_socket import Desk, sign_staff_in
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Web
from tests.sinks import start_hook

RED = "I want to kill myself tonight."
LEASE_S = 15.0


def is_with(desk: Desk, conversation: int, user: int) -> bool:
    """Whether the screen was told that this member of staff speaks with the participant."""
    items = [item for frame in desk.frames for item in frame.get("changed", ())]
    return any(
        item["conversation"] == conversation and (item["person"] or {}).get("id") == user for item in items
    )


async def test_a_restart_of_the_database_leaves_a_screen_its_conversation_and_shows_what_rang_meanwhile(
    another_web: Callable[..., Web], people: People, database: EmbeddedPostgres
) -> None:
    web, rosa, sam = another_web(), people.rosa, people.add_sam()
    cookie = rosa.sign_in(web.url)
    conversation = rosa.conversation.pk
    async with (
        Page(web.socket_url, cookie) as page,
        Desk.sign_in(web, people, sam) as desk,
    ):
        await desk.take_over(conversation)
        await page.until("person")
        await asyncio.to_thread(database.stop, "immediate")
        await asyncio.to_thread(database.start)
        # What is stored before the process listens again comes without a notification.
        cause = FlagCause(conversation=conversation, tier=FlagTier.RED, kind="help", source=FlagSource.BUTTON)
        with psycopg.connect(database.url) as native:
            native.execute(RAISE_FLAG, flag_parameters(cause))
        assert (await desk.flag(conversation=conversation, kind="help"))["state"] == "open"
        # Neither page was closed. Who is there is as it was, and each reads the other's next words.
        await say_until_done(desk, conversation, "I am still here, Rosa.")
        assert (await page.until("said", "person"))["text"] == "I am still here, Rosa."
        await page.say("Thank you.")
        assert (await desk.until("accepted"))["question"] == "Thank you."
        assert (await page.ending())["type"] == "handed_over"
        # Later changes come by themselves, flags among them.
        await page.say(RED)
        flag = await desk.flag(conversation=conversation, kind="suicide-intent")
        assert (await desk.act("accept", flag=flag["id"]))["type"] == "done"
        assert (await desk.act("hand_back", conversation=conversation))["type"] == "done"
        assert (await page.until("person"))["state"] == "leaves"
    kinds = in_database(
        lambda: list(
            TranscriptEntry.objects.filter(conversation=conversation)
            .order_by("id")
            .values_list("kind", flat=True)
        )
    )
    assert kinds == ["joins", "said", "leaves"]


async def say_until_done(desk: Desk, conversation: int, text: str) -> None:
    """Write under one key, as the page does, until it is stored."""
    key = str(uuid.uuid4())
    async with asyncio.timeout(30):
        while True:
            answer = await desk.act("say", conversation=conversation, key=key, text=text)
            if answer["type"] == "done":
                return
            assert answer["code"] not in ("not_taken_over", "taken", "not_there"), answer


async def test_a_process_that_sleeps_beyond_the_lease_of_its_owner_loses_the_take_over_and_says_so(
    another_web: Callable[..., Web], people: People
) -> None:
    sleeper, left = another_web(), another_web()
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(left.url)
    conversation = rosa.conversation.pk
    mira = people.add_supervisor("mira")
    async with (
        Page(left.socket_url, cookie) as page,
        Desk.sign_in(sleeper, people, sam) as desk,
        Desk.sign_in(left, people, mira) as colleague,
    ):
        await desk.take_over(conversation)
        await page.until("person")
        sleeper.signal(signal.SIGSTOP)
        try:
            lost = await page.until("person", within_s=LEASE_S + 15)
            assert lost["state"] == "lost" and lost["line"]
            flag = await colleague.flag(kind="screen_lost", conversation=conversation)
            assert (flag["tier"], flag["state"]) == ("red", "open")
            assert (await colleague.act("take_over", conversation=conversation))["type"] == "done"
        finally:
            sleeper.signal(signal.SIGCONT)
        late = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="Hello?")
        assert (late["type"], late["code"]) == ("refused", "not_taken_over")
        while not is_with(desk, conversation, mira.pk):
            await desk.next()
        assert (await page.until("person"))["name"] == mira.get_username()
        assert "said" not in page.kinds()
    assert in_database(lambda: Control.objects.get(pk=conversation)).person != sam.pk


async def test_while_valkey_is_away_a_flag_rings_escalates_and_is_accepted(
    another_web: Callable[..., Web], people: People, tmp_path: Path
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    valkey = EmbeddedValkey(tmp_path / "valkey")
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(first_ring_s=1, second_ring_s=2))
    with start_hook() as posts:
        web = another_web(VALKEY_URL=valkey.start(), ALERT_WEBHOOK_URL=posts.url)
        cookie, staff_cookie = rosa.sign_in(web.url), sign_staff_in(web, people, sam)
        await asyncio.to_thread(valkey.stop)
        async with Page(web.socket_url, cookie) as page, Desk(web, staff_cookie) as desk:
            await page.say(RED)
            flag = (await desk.flag(conversation=rosa.conversation.pk, kind="suicide-intent"))["id"]
            assert (await desk.act("seen", flag=flag))["type"] == "done"
            assert "Staff here have been told" in (await page.until("safety"))["line"]
            await until(lambda: posts.find_rings(flag), within_s=20)
            assert (await desk.act("accept", flag=flag))["type"] == "done"
            # A further screen is let in as well: the sign-in counts in Valkey, and does without it.
            async with Desk.sign_in(web, people, people.add_supervisor("mira")) as second:
                [listed] = [one for one in second.hello["flags"] if one["id"] == flag]
                # A hello can be older than the acceptance: then a frame follows.
                assert listed["owner"] == sam.pk or await second.flag(id=flag, owner=sam.pk)
