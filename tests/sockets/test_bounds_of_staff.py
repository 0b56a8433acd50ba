"""What operators may do anywhere, how soon pauses and withdrawals take effect, what one screen follows (S4, S5)."""

import asyncio
import json
import time
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from websockets import Origin
from websockets.asyncio.client import connect

from companion.models import Flag, StaffPause, Visit
from ops.models import StatedReason, Supervision
from ops.supervision.desk import MAX_WATCHED_PER_SCREEN
from tests.desk_socket import Desk
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import get_audit_entries, open_staff_session, store_flag

STORY = {"pieces": ["Once", *[" upon"] * 100], "pace_ms": 100}
TRIES = 3
"""A machine that is busy may delay one try. What waits for a poll of some seconds delays each of them."""


@pytest.mark.parametrize("scope", ["person", "site", "everyone"])
async def test_a_pause_ends_a_reply_of_another_process_within_a_second(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal, scope: str
) -> None:
    rosa = people.rosa
    user = people.add_ines() if scope == "everyone" else people.add_sam()
    facts: dict[str, Any] = {"scope": scope}
    if scope != "everyone":
        facts["id"] = rosa.row.pk if scope == "person" else people.site.pk
    rehearsal.inject(STORY)
    times = []
    async with (
        Page(neighbour.socket_url, rosa.sign_in(service.url)) as page,
        Desk.sign_in(service, people, user) as desk,
    ):
        for _ in range(TRIES):
            await page.say("Tell me a long story.")
            await page.until("words")
            began = time.monotonic()
            try:
                assert (await desk.act("pause", **facts, reason="Fire drill"))["type"] == "done"
                await page.until("paused")
                times.append(time.monotonic() - began)
                # Each process has heard of it: a further message is not answered on this one either.
                async with Page(service.socket_url, rosa.sign_in(service.url)) as other:
                    await other.say("And here?")
                    assert (await other.ending())["type"] == "paused"
            finally:
                assert (await desk.act("resume", **facts))["type"] == "done"
            if times[-1] < 1:
                break
    assert min(times) < 1, times
    assert rosa.turns()[-1].reason == "staff_pause"
    mine = StaffPause.objects.filter(scope=scope, about=facts.get("id", 0), ended_at=None)
    assert not in_database(mine.exists)


async def test_a_right_that_is_withdrawn_is_gone_from_an_open_screen_within_two_seconds(
    service: Web, people: People
) -> None:
    times = []
    for number in range(TRIES):
        user = people.add_supervisor(f"sam{number}")
        async with Desk.sign_in(service, people, user) as desk:
            in_database(Supervision.objects.filter(user=user).delete)
            began = time.monotonic()
            await desk.until("rights")
            times.append(time.monotonic() - began)
        if times[-1] < 2:
            return
    raise AssertionError(times)


async def test_an_operator_accepts_a_flag_and_ends_a_visit_at_any_site_and_reads_no_name(
    service: Web, people: People
) -> None:
    otto, ines = people.otto, people.add_ines()
    otto.sign_in(service.url)
    flag = store_flag(otto).pk
    async with Desk.sign_in(service, people, ines) as desk:
        [item] = [one for one in desk.hello["people"] if one["conversation"] == otto.conversation.pk]
        assert item["name"] == ""
        assert (await desk.act("accept", flag=flag))["type"] == "done"
        assert (await desk.act("end_visit", visit=item["visit"]))["type"] == "done"
        assert "Otto" not in str(desk.frames)
    assert in_database(lambda: Flag.objects.get(pk=flag)).owner == ines.pk
    assert in_database(lambda: Visit.objects.get(participant=otto.row)).ended_at is not None
    assert {entry.what for entry in get_audit_entries(otto)} >= {"accepted_flag", "ended_visit"}


async def test_the_hour_of_a_stated_reason_ends_and_so_does_the_reading(service: Web, people: People) -> None:
    rosa, ines = people.rosa, people.add_ines()
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
        Desk.sign_in(service, people, ines) as desk,
    ):
        assert (await desk.act("watch", conversation=conversation, reason="A complaint"))["type"] == "done"
        assert (await desk.act("unwatch", conversation=conversation))["type"] == "done"
        until = timezone.now() + timedelta(seconds=1)
        in_database(lambda: StatedReason.objects.filter(staff=ines.pk).update(until=until))
        assert (await desk.act("watch", conversation=conversation))["type"] == "done"
        assert (await desk.until("unwatched"))["conversation"] == conversation
        seen = len(desk.frames)
        await page.say("Good morning.")
        await page.ending()
        assert (await desk.act("watch", conversation=conversation))["code"] == "reason_needed"
        assert "Good morning." not in str(desk.frames[seen:])


@pytest.mark.parametrize("path", ["/ws/staff/", "/ws/ops/"])
async def test_screens_that_open_while_rights_are_read_stay_open(
    service: Web, people: People, path: str
) -> None:
    """With twenty that open at once, some open while the rights of the first ones are read."""
    cookies = [open_staff_session(people.add_supervisor(f"sam{number}")) for number in range(20)]
    url = service.url.replace("http", "ws", 1) + path
    async with AsyncExitStack() as stack:
        screens = await asyncio.gather(
            *(
                stack.enter_async_context(
                    connect(
                        url,
                        origin=Origin(service.url),
                        additional_headers={"Cookie": f"companion={cookie}"},
                        max_size=None,
                        proxy=None,
                    )
                )
                for cookie in cookies
            )
        )
        async with asyncio.timeout(20):
            first = await asyncio.gather(*(screen.recv() for screen in screens))
            for screen in screens:
                await screen.send('{"type": "ping"}')
            for screen in screens:
                while json.loads(await screen.recv())["type"] != "pong":
                    pass
    assert {json.loads(frame)["type"] for frame in first} == {"hello"}


async def test_a_screen_follows_so_many_conversations_and_one_more_once_it_closes_one(
    service: Web, people: People
) -> None:
    followed = [people.add_participant(f"Rosa {number}") for number in range(MAX_WATCHED_PER_SCREEN + 1)]
    *most, last = [person.conversation.pk for person in followed]
    async with Desk.sign_in(service, people, people.add_sam()) as desk:
        for conversation in most:
            assert (await desk.act("watch", conversation=conversation))["type"] == "done"
        assert (await desk.act("watch", conversation=last))["code"] == "too_many"
        assert (await desk.act("unwatch", conversation=most[0]))["type"] == "done"
        assert (await desk.act("watch", conversation=last))["type"] == "done"
