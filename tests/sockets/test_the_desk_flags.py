"""Flags at the desk's socket: they reach every screen, and one person answers for each (S2)."""

import asyncio
import time
import uuid
from collections.abc import Callable
from functools import partial

from companion.models import Flag, Site
from ops.project.wiring.turns import build_turn_policy
from ops.stack.postgres import EmbeddedPostgres
from tests.desk_socket import Desk
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Web
from tests.sinks import start_hook
from tests.staff import list_recorded
from tests.supervised import ring


async def test_a_flag_reaches_every_screen_of_the_site_at_once_and_none_of_others(
    service: Web, neighbour: Web, people: People, database: EmbeddedPostgres
) -> None:
    sam, stranger = people.add_sam(), people.add_supervisor("olga", site=people.elsewhere)
    rosa = people.rosa
    async with (
        Desk.sign_in(service, people, sam) as one,
        Desk.sign_in(neighbour, people, sam) as two,
        Desk.sign_in(service, people, stranger) as other,
    ):
        began = time.monotonic()
        flag = await ring(database, rosa)
        for desk in (one, two):
            frame = await desk.flag(id=flag, state="open")
            assert (frame["tier"], frame["conversation"], frame["owner"]) == (
                "red",
                rosa.conversation.pk,
                None,
            )
        assert time.monotonic() - began < 2
        assert (await one.act("seen", flag=flag))["type"] == "done"
        assert (await two.flag(id=flag))["seen_at"]
        assert (await other.act("accept", flag=flag))["code"] == "not_there"
        assert not [frame for frame in other.frames if frame["type"] == "flag"]


async def test_of_two_processes_one_accepts_and_the_other_reads_the_name(
    service: Web, neighbour: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    async with (
        Desk.sign_in(service, people, sam) as one,
        Desk.sign_in(neighbour, people, mira) as two,
    ):
        for _ in range(10):
            flag = await ring(database, rosa, kind=f"k{uuid.uuid4().hex[:8]}")
            answers = await asyncio.gather(one.act("accept", flag=flag), two.act("accept", flag=flag))
            assert sorted(answer["type"] for answer in answers) == ["done", "refused"]
            [refused] = [answer for answer in answers if answer["type"] == "refused"]
            owner = sam if answers[0]["type"] == "done" else mira
            assert refused["code"] == "accepted" and owner.get_username() in refused["text"]
            assert in_database(partial(Flag.objects.get, pk=flag)).owner == owner.pk


async def test_a_flag_is_noted_handed_taken_on_and_closed_by_its_owner(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    flag = await ring(database, rosa)
    async with (
        Desk.sign_in(service, people, sam) as his,
        Desk.sign_in(service, people, mira) as hers,
    ):
        assert [one["id"] for one in his.hello["flags"]] == [flag]
        assert {one["id"] for one in his.hello["colleagues"]} >= {sam.pk, mira.pk}
        assert (await his.act("close", flag=flag, outcome="unsure", note="x"))["code"] == "not_accepted"
        assert (await his.act("accept", flag=flag))["type"] == "done"
        assert (await his.act("note", flag=flag, text="I called her."))["type"] == "done"
        assert (await his.act("hand", flag=flag, to=2**40))["code"] == "cannot_receive"
        assert (await his.act("hand", flag=flag, to=mira.pk))["type"] == "done"
        assert (await hers.flag(id=flag, handed_to=mira.pk))["owner"] == sam.pk
        assert (await hers.act("take_on", flag=flag))["type"] == "done"
        refused = await his.act("close", flag=flag, outcome="concern", note="Done.")
        assert refused["code"] == "not_owner" and mira.get_username() in refused["text"]
        assert (await hers.act("close", flag=flag, outcome="concern", note=" "))["code"] == "note_missing"
        assert (await hers.act("close", flag=flag, outcome="concern", note="Done."))["type"] == "done"
        assert (await his.flag(id=flag, state="closed"))["outcome"] == "concern"
    kept = [what for what in list_recorded(rosa) if "flag" in what]
    assert kept == ["accepted_flag", "noted_flag", "handed_flag", "took_on_flag", "closed_flag"]


async def test_a_screen_that_confirms_a_red_flag_makes_the_line_say_that_staff_know(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(neighbour, people, people.add_sam()) as desk,
    ):
        began = time.monotonic()
        await page.say("I want to kill myself tonight.")
        flag = await desk.flag(tier="red", conversation=rosa.conversation.pk)
        await desk.act("seen", flag=flag["id"])
        told = await page.until("safety")
        assert time.monotonic() - began < 5
        assert told["line"].startswith(build_turn_policy().lines.safety_told.split("{")[0])
        await desk.act("accept", flag=flag["id"])
        assert (await desk.person(rosa.conversation.pk, quiet=True))["tier"] == "red"
        assert (await desk.act("release", conversation=rosa.conversation.pk))["type"] == "done"
        assert (await desk.act("release", conversation=rosa.conversation.pk))["code"] == "not_quiet"


async def test_web_processes_ring_on_call_while_there_is_no_worker(
    another_web: Callable[..., Web], people: People, database: EmbeddedPostgres
) -> None:
    with start_hook() as posts:
        another_web(ALERT_WEBHOOK_URL=posts.url)
        in_database(lambda: Site.objects.filter(pk=people.site.pk).update(first_ring_s=1, second_ring_s=2))
        flag = await ring(database, people.rosa)
        # A process of another test, which knows no such address, may claim a try first.
        await until(lambda: posts.find_rings(flag), within_s=60)
        [post] = posts.find_rings(flag)
        assert people.site.name in post["says"] and "Rosa" not in str(post)
    in_database(lambda: Flag.objects.filter(pk=flag).update(next_stage_at=None))
