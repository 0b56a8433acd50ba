"""The staff's socket: for signed-in staff alone, by site, withdrawn live, and only what has changed (Q5, S5)."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest
import websockets
from django.contrib.auth.models import User
from websockets.asyncio.client import ClientConnection, connect

from ops.alerts.kinds import AlertKind
from ops.alerts.rows import raise_alert
from ops.models import Alert, Supervision
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import expire_hold, open_staff_client, play_broken_turn

Frame = dict[str, Any]


def watching(service: Web, cookie: str | None) -> connect:
    """The socket as the page opens it; use as an async context manager."""
    headers = {"Origin": service.url} | ({"Cookie": f"companion={cookie}"} if cookie else {})
    return connect(service.url.replace("http", "ws", 1) + "/ws/ops/", additional_headers=headers, proxy=None)


def signed_in(service: Web, people: People, user: Any) -> str:
    with open_staff_client(service, user, people.password) as staff_client:
        return staff_client.cookies["companion"]


async def next_now(socket: ClientConnection) -> Frame:
    while True:
        frame: Frame = json.loads(await socket.recv())
        if frame["type"] == "now":
            return frame


async def close_code(socket: ClientConnection) -> int:
    try:
        async with asyncio.timeout(10):
            while True:
                await socket.recv()
    except websockets.ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 1006


async def test_a_watching_page_is_greeted_shown_everything_and_then_what_changes(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    cookie = signed_in(service, people, people.add_sam())
    async with watching(service, cookie) as socket:
        assert json.loads(await socket.recv()) == {"type": "hello", "v": 1}
        first = await next_now(socket)
        assert {"texts", "level", "ceiling", "held", "processes", "hour", "reasons", "lanes"} <= first.keys()
        assert (len(first["hour"]), first["level"]) == (60, "free")
        later = await next_now(socket)
        assert "ceiling" not in later and "held" not in later
        assert later["texts"]["at"] != first["texts"]["at"]
        await play_broken_turn(service, people.rosa, rehearsal)
        while "held" not in (later := await next_now(socket)):
            pass
        assert (later["held"][0]["person"], later["held"][0]["house"]) == ("Rosa", people.site.name)


async def test_an_open_alert_is_a_sentence_for_operators_and_a_number_for_supervisors(
    service: Web, people: People
) -> None:
    about = f"lane-of-{people.site.pk}"
    seen = {}
    for name, user in (("sam", people.add_sam()), ("ines", people.add_ines())):
        async with watching(service, signed_in(service, people, user)) as socket:
            before = (await next_now(socket))["alerts"]
            in_database(lambda name=name: raise_alert(AlertKind.QUOTA, f"{about}-{name}"))  # type: ignore[misc]
            while "alerts" not in (later := await next_now(socket)):
                pass
            seen[name] = (before, later["alerts"])
    before, later = seen["ines"]
    # In front of the others: at most the newest 50 are listed.
    assert all(f"{about}-ines" not in alert["says"] for alert in before["open"])
    assert f"{about}-ines has no credit" in later["open"][0]["says"]
    assert "a person" in later["title"]
    before, later = seen["sam"]
    assert before["title"] != later["title"]
    assert later["title"].endswith("for operators.") and later["open"] == []
    in_database(lambda: Alert.objects.filter(about__startswith=about).delete())


async def test_the_held_questions_of_a_site_are_for_those_who_supervise_it(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    hers = await play_broken_turn(service, people.rosa, rehearsal)
    his = await play_broken_turn(service, people.otto, rehearsal)
    seen = {}
    for name, user in (("sam", people.add_sam()), ("ines", people.add_ines())):
        async with watching(service, signed_in(service, people, user)) as socket:
            frame = await next_now(socket)
            seen[name] = {one["href"] for one in frame["held"]}
    assert seen["sam"] == {f"/ops/turns/{hers.pk}/"}
    assert f"/ops/turns/{his.pk}/" not in seen["sam"]
    # The oldest of all sites, and those may be many.
    assert len(seen["ines"]) >= 2


@pytest.mark.parametrize("whose", ["no session", "a participant", "an unknown session"])
async def test_a_visitor_who_is_not_staff_is_turned_away(service: Web, people: People, whose: str) -> None:
    cookies: dict[str, Callable[[], str | None]] = {
        "no session": lambda: None,
        "a participant": lambda: people.rosa.sign_in(service.url),
        "an unknown session": lambda: "x" * 32,
    }
    async with watching(service, cookies[whose]()) as socket:
        assert await close_code(socket) == 4401


@pytest.mark.parametrize("how", ["signs out", "is staff no more", "has a new password"])
async def test_staff_who_may_no_longer_watch_are_turned_away_within_seconds(
    service: Web, people: People, how: str
) -> None:
    sam = people.add_sam()
    with open_staff_client(service, sam, people.password) as staff_client:
        async with watching(service, staff_client.cookies["companion"]) as socket:
            await next_now(socket)
            withdraw(how, sam, staff_client)
            assert await close_code(socket) == 4401


def withdraw(how: str, user: Any, staff_client: httpx.Client) -> None:
    match how:
        case "signs out":
            staff_client.get("/ops/turns/")
            form = {"csrfmiddlewaretoken": staff_client.cookies["csrftoken"]}
            origin = {"Origin": str(staff_client.base_url).rstrip("/")}
            assert staff_client.post("/staff/sign-out/", data=form, headers=origin).status_code == 302
        case "is staff no more":
            user.is_staff = False
            in_database(user.save)
        case _:
            user.set_password("another one")
            in_database(user.save)


async def test_a_ping_is_answered_and_nothing_else_is_taken(service: Web, people: People) -> None:
    async with watching(service, signed_in(service, people, people.add_sam())) as socket:
        for odd in ("", "[]", "null", '{"type":"say"}', "[" * 5_000):
            await socket.send(odd)
        await socket.send('{"type":"ping"}')
        while json.loads(await socket.recv()) != {"type": "pong"}:
            pass


async def test_a_process_that_stops_tells_watching_pages_to_come_back(
    another_web: Callable[..., Web], people: People
) -> None:
    web = another_web()
    async with watching(web, signed_in(web, people, people.add_sam())) as socket:
        await next_now(socket)
        web.process.terminate()
        assert await close_code(socket) == 4503
    assert web.process.wait(20) == 0


async def following(service: Web, cookie: str, *turns: object) -> ClientConnection:
    """The socket of any other page for staff, which follows these turns."""
    address = service.url.replace("http", "ws", 1) + "/ws/ops/page/"
    headers = {"Origin": service.url, "Cookie": f"companion={cookie}"}
    socket = await connect(address, additional_headers=headers, proxy=None)
    assert json.loads(await socket.recv()) == {"type": "hello", "v": 1}
    await socket.send(json.dumps({"type": "follow", "turns": turns}))
    return socket


async def test_a_page_is_told_how_its_turns_stand_and_shown_neither_figures_nor_turns_of_others(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    hers = await play_broken_turn(service, people.rosa, rehearsal)
    his = await play_broken_turn(service, people.otto, rehearsal)
    cookie = signed_in(service, people, people.add_sam())
    socket = await following(service, cookie, his.pk, hers.pk, 2**63, -1, True, "1", None)
    try:
        first = json.loads(await socket.recv())
        assert first == {"type": "turn", "turn": hers.pk, "stands": "paused:0:0::1", "seq": 0}
        expire_hold(hers)
        assert json.loads(await socket.recv())["stands"] == "paused:0:1::1"
        await socket.send(json.dumps({"type": "ping"}))
        assert json.loads(await socket.recv()) == {"type": "pong"}
    finally:
        await socket.close()


async def test_a_page_is_told_when_its_rights_change_and_closed_when_they_end(
    service: Web, people: People
) -> None:
    sam = people.add_sam()
    socket = await following(service, signed_in(service, people, sam))
    try:
        in_database(lambda: Supervision.objects.create(user=sam, site=people.elsewhere))
        assert json.loads(await socket.recv()) == {"type": "rights"}
        in_database(lambda: User.objects.filter(pk=sam.pk).update(is_active=False))
        assert await close_code(socket) == 4401
    finally:
        await socket.close()


async def test_access_ends_in_time_however_long_the_figures_take(service: Web, people: People) -> None:
    sam = people.add_sam()
    async with watching(service, signed_in(service, people, sam)) as socket:
        await next_now(socket)
        with locked_alerts() as is_waited_for:
            await until(is_waited_for)
            in_database(lambda: User.objects.filter(pk=sam.pk).update(is_active=False))
            # Less than the time after which a reading of the figures is given up.
            async with asyncio.timeout(4):
                assert await close_code(socket) == 4401


@contextmanager
def locked_alerts() -> Iterator[Callable[[], bool]]:
    """Let no figures be read, because they contain the open alerts; yields whether a reading waits already."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as holder:
        holder.execute("LOCK TABLE ops_alert IN ACCESS EXCLUSIVE MODE")
        waiting = (
            "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'ops_alert'::regclass AND NOT granted)"
        )
        yield lambda: bool(holder.execute(waiting).fetchone()[0])  # type: ignore[index]
        holder.rollback()
