"""Sockets read cookies exactly as pages do, whatever other software on the same host has left in the browser."""

import json
from collections.abc import Callable

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.people import People
from tests.processes import Web
from tests.staff import open_staff_client

NEIGHBOURS = [
    'consent={"a":1}',
    "a=b c",
    'a=x"y',
    "flag",
    "é=1",
    "a[1]=2",
    "=nothing",
    "a=b=c",
    "\U0001f642=1",
    "a=1,b=2",
    'companions="x',
]
PLACES: dict[str, Callable[[str, str], str]] = {
    "before": lambda neighbour, ours: f"{neighbour}; {ours}",
    "behind": lambda neighbour, ours: f"{ours}; {neighbour}",
    "close before": lambda neighbour, ours: f"{neighbour};{ours}",
}


async def greeting(service: Web, path: str, cookie: str) -> str:
    """The first frame's type, or the code the socket was closed with."""
    # Header values travel as Latin-1; a browser sends the bytes of UTF-8.
    header = cookie.encode().decode("latin-1")
    address = service.url.replace("http", "ws", 1) + path
    async with connect(
        address, additional_headers={"Origin": service.url, "Cookie": header}, proxy=None
    ) as socket:
        return str(json.loads(await socket.recv())["type"])


def status(service: Web, path: str, cookie: str) -> int:
    return httpx.get(service.url + path, headers={b"Cookie": cookie.encode()}, trust_env=False).status_code


@pytest.mark.parametrize("place", PLACES)
async def test_a_neighbours_cookie_locks_no_participant_out(service: Web, people: People, place: str) -> None:
    ours = f"companion={people.rosa.sign_in(service.url)}"
    for neighbour in NEIGHBOURS:
        cookie = PLACES[place](neighbour, ours)
        assert status(service, "/chat/", cookie) == 200, neighbour
        assert await greeting(service, "/ws/chat/", cookie) == "hello", neighbour


@pytest.mark.parametrize("place", PLACES)
async def test_a_neighbours_cookie_locks_no_member_of_staff_out(
    service: Web, people: People, place: str
) -> None:
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        ours = f"companion={staff_client.cookies['companion']}"
    for neighbour in NEIGHBOURS:
        cookie = PLACES[place](neighbour, ours)
        assert status(service, "/ops/", cookie) == 200, neighbour
        assert await greeting(service, "/ws/ops/", cookie) == "hello", neighbour


async def test_of_two_cookies_of_our_name_pages_and_sockets_take_the_same(
    service: Web, people: People
) -> None:
    ours = f"companion={people.rosa.sign_in(service.url)}"

    assert status(service, "/chat/", f"companion=other; {ours}") == 200
    assert await greeting(service, "/ws/chat/", f"companion=other; {ours}") == "hello"
    assert status(service, "/chat/", f"{ours}; companion=other") == 302
