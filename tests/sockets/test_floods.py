"""A client that sends too much or reads nothing harms itself alone; a slow one gets every word in order (T12)."""

import asyncio
import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack

import psutil
import pytest

from tests.page_socket import Page
from tests.people import People
from tests.personal_data import add_turn
from tests.processes import Rehearsal, Web
from tests.raw_socket import PING, Flood, RawSocket, frame

NONSENSE = frame(b"x" * 60_000)
SMALL = frame(b'{"type":"ping"}') * 500
CONTROL = frame(b"", PING) * 500


def memory_mb(web: Web) -> float:
    return float(psutil.Process(web.process.pid).memory_info().rss) / 1e6


@pytest.mark.parametrize("count", [3, pytest.param(10, marks=pytest.mark.long)])
@pytest.mark.parametrize("content", [NONSENSE, SMALL, CONTROL], ids=["nonsense", "small", "control"])
async def test_flooding_sockets_neither_fill_the_memory_nor_hold_up_a_neighbours_reply(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal, content: bytes, count: int
) -> None:
    web = another_web()
    cookie = people.rosa.sign_in(web.url)
    rehearsal.inject({"pace_ms": 20, "words": 100})
    before = memory_mb(web)
    with ExitStack() as sockets:
        floods = [
            Flood(sockets.enter_context(RawSocket(web.socket_url, cookie)), content).start()
            for _ in range(count)
        ]
        async with Page(web.socket_url, people.otto.sign_in(web.url)) as page:
            await page.next()
            began = time.monotonic()
            await page.say("Are you there?")
            assert (await page.ending(within_s=40))["type"] == "complete"
            assert time.monotonic() - began < 15
        assert memory_mb(web) < before + 60
        for flood in floods:
            await asyncio.to_thread(flood.join, 40)
    assert {flood.code for flood in floods} == {4408}
    # For more than ten seconds, at what one socket may send.
    assert sum(flood.sent_bytes for flood in floods) < count * 8_000_000
    assert web.log_text.count("socket.too_far_behind") == 1


async def test_a_page_that_sends_a_burst_of_everything_it_may_send_is_answered_and_stays_open(
    service: Web, people: People
) -> None:
    async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
        await page.next()
        for _ in range(300):
            await page.send({"type": "ping"})
        for _ in range(300):
            assert (await page.next())["type"] == "pong"
        await page.say("And now a good one.")
        assert (await page.ending())["type"] == "complete"


async def test_a_client_that_asks_and_reads_nothing_costs_no_memory_and_is_closed(
    another_web: Callable[..., Web], people: People
) -> None:
    web = another_web()
    cookie = people.rosa.sign_in(web.url)
    before = memory_mb(web)
    asked = frame(json.dumps({"type": "stop", "turn": 1}).encode()) * 500
    with RawSocket(web.socket_url, cookie, receive_buffer=4_096) as raw:
        raw.connection.settimeout(2)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                await asyncio.to_thread(raw.connection.sendall, asked)
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("it was never closed")
        assert memory_mb(web) < before + 30
    assert "socket.too_far_behind" in web.log_text


async def test_frames_that_a_client_takes_a_little_at_a_time_arrive_whole_and_in_their_order(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    # More than the kernel holds for a client that does not read.
    reply = "".join(f"{number} steps. " for number in range(300_000))
    add_turn(rosa, "How far is it?", reply=reply)
    cookie = rosa.sign_in(service.url)
    with RawSocket(service.socket_url, cookie, receive_buffer=4_096) as raw:
        await asyncio.to_thread(raw.connection.recv, 1, socket.MSG_PEEK)
        async with Page(service.socket_url, cookie) as page:
            await page.say("Are you there?")
            ending = await page.ending()
        received = [json.loads((await asyncio.to_thread(raw.next))[1])]
        while received[-1]["type"] != "complete":
            received.append(json.loads(raw.next()[1]))
    [turn] = received[0]["conversation"]["turns"]
    assert turn["reply"] == reply
    words = [one["text"] for one in received if one["type"] == "words"]
    assert "".join(words) == page.words(ending["turn"])


@pytest.mark.long
async def test_a_client_that_lets_a_long_reply_be_sent_again_and_again_and_reads_nothing_is_closed(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web = another_web()
    rosa = people.rosa
    cookie = rosa.sign_in(web.url)
    rehearsal.inject({"say": "A word and " * 20_000, "pace_ms": 0}, times=1)
    async with Page(web.socket_url, cookie) as page:
        await page.say("Tell me everything.")
        ending = await page.ending(within_s=60)
    turn, seq = ending["turn"], ending["seq"]
    again = frame(json.dumps({"type": "catch_up", "turn": turn, "after": 0}).encode()) + frame(
        json.dumps({"type": "ack", "turn": turn, "seq": seq}).encode()
    )
    before = memory_mb(web)
    with RawSocket(web.socket_url, cookie, receive_buffer=4_096) as raw:
        raw.connection.settimeout(0.1)
        deadline, most = time.monotonic() + 60, 0.0
        while "socket.too_far_behind cause=unsent" not in web.log_text:
            assert time.monotonic() < deadline, "it was never closed"
            try:
                await asyncio.to_thread(raw.connection.sendall, again)
            except TimeoutError:
                most = max(most, memory_mb(web))
            except OSError:
                break
            # Within what one socket may ask for, so that it is not closed as a flood.
            await asyncio.sleep(0.1)
    assert "socket.too_far_behind cause=unsent" in web.log_text
    assert most < before + 40


@pytest.mark.parametrize("size", [70_000, 200_000])
async def test_a_frame_beyond_the_protocols_bound_is_called_too_long_and_the_socket_stays_open(
    service: Web, people: People, size: int
) -> None:
    async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
        await page.next()
        await page.send(json.dumps({"type": "ping", "padding": "x" * size}))
        assert (await page.next())["code"] == "too_long"
        await page.send({"type": "ping"})
        assert (await page.next())["type"] == "pong"


@pytest.mark.parametrize("size", [400_000, 2_000_000])
async def test_a_frame_beyond_the_transports_bound_closes_the_socket_with_a_code(
    service: Web, people: People, size: int
) -> None:
    async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
        await page.next()
        await page.send("x" * size)
        assert await page.close_code() == 1009
