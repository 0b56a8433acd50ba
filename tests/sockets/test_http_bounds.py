"""What a request may weigh and how long it may take, without any proxy in front."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import psutil
import pytest
import websockets
from websockets.asyncio.client import connect

from ops.transcripts.timeline import PAGE_TURNS
from tests.page_socket import Page
from tests.patience import wait_until
from tests.people import People
from tests.personal_data import add_turn
from tests.processes import Web
from tests.staff import open_staff_session

MAX_BODY_BYTES = 262_144


def chunks(size: int) -> Iterator[bytes]:
    """A body whose length is not announced."""
    for _ in range(size // 1_024):
        yield b"x" * 1_024


@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "chunked"])
def test_a_body_beyond_the_bound_is_refused_with_413_and_costs_no_memory(
    service: Web, is_announced: bool
) -> None:
    before = psutil.Process(service.process.pid).memory_info().rss
    size = 30_000_000
    content = b"x" * size if is_announced else chunks(size)
    answer = httpx.post(f"{service.url}/card/", content=content, trust_env=False, timeout=30)
    assert answer.status_code == 413
    assert psutil.Process(service.process.pid).memory_info().rss < before + 10_000_000


@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "chunked"])
def test_a_body_as_large_as_the_bound_reaches_the_page(service: Web, is_announced: bool) -> None:
    content = b"x" * MAX_BODY_BYTES if is_announced else chunks(MAX_BODY_BYTES)
    answer = httpx.post(f"{service.url}/card/", content=content, trust_env=False)
    # Refused by the check of forms, which means that it was read.
    assert answer.status_code == 403


@pytest.mark.long
def test_a_request_that_trickles_is_answered_408_after_thirty_seconds(service: Web) -> None:
    heads = {
        "headers": b"GET /card/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        "body": b"POST /card/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
    }
    with ExitStack() as stack:
        callers = []
        for head in heads.values():
            caller = stack.enter_context(socket.create_connection(("127.0.0.1", service.port)))
            caller.sendall(head)
            caller.settimeout(1)
            callers.append(caller)
        began = time.monotonic()
        answers = [trickle(caller, until_s=began + 60) for caller in callers]
        assert time.monotonic() - began < 45
    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 408 Request Timeout"] * 2


def trickle(caller: socket.socket, *, until_s: float) -> bytes:
    """Send a byte a second until an answer comes."""
    while time.monotonic() < until_s:
        try:
            return caller.recv(1_000)
        except TimeoutError:
            caller.sendall(b"x")
    raise AssertionError("it was never answered")


def test_one_address_has_only_so_many_connections_and_gets_room_again(
    another_web: Callable[..., Web], people: People
) -> None:
    web = another_web(COMPANION_PAGES_PER_ADDRESS="1")
    allowed = 202
    with ExitStack() as stack:
        held = [
            stack.enter_context(socket.create_connection(("127.0.0.1", web.port))) for _ in range(allowed)
        ]
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{web.url}/healthz", trust_env=False)
        assert "web.too_many_connections_from_one_address connections=202" in web.log_text
        held[0].close()
        wait_until(lambda: is_alive(web))


def is_alive(web: Web) -> bool:
    try:
        return httpx.get(f"{web.url}/healthz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


async def test_a_socket_gives_its_place_among_the_connections_back(
    another_web: Callable[..., Web], people: People
) -> None:
    web = another_web(COMPANION_PAGES_PER_ADDRESS="1")
    cookie = people.rosa.sign_in(web.url)
    for _ in range(230):
        async with Page(web.socket_url, cookie) as page:
            await page.next()
    assert "too_many" not in web.log_text


def test_a_process_may_open_as_many_files_as_it_is_allowed_to(service: Web) -> None:
    soft, hard = psutil.Process(service.process.pid).rlimit(psutil.RLIMIT_NOFILE)
    assert soft == hard


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize("host", ["192.0.2.7", "[2001:db8::1]:8000", "other.example", "a b"])
def test_a_probe_is_answered_whatever_the_host_is_called(service: Web, path: str, host: str) -> None:
    answer = httpx.get(f"{service.url}{path}", headers={"Host": host}, trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["cache-control"].count("no-store") == 1


def test_a_page_is_still_answered_under_our_own_names_alone(service: Web) -> None:
    answer = httpx.get(f"{service.url}/card/", headers={"Host": "192.0.2.7"}, trust_env=False)
    assert answer.status_code == 400


def test_a_caller_cannot_say_where_the_service_is_mounted(service: Web) -> None:
    answer = httpx.get(f"{service.url}/chat/", headers={"Daphne-Root-Path": "/elsewhere"}, trust_env=False)
    assert (answer.status_code, answer.headers["location"]) == (302, "/card/")


def test_the_answer_to_head_has_no_body_however_long_the_page_is(service: Web, people: People) -> None:
    rosa = people.rosa
    for _ in range(PAGE_TURNS):
        add_turn(rosa, "x" * 4_000)
    cookie = open_staff_session(people.add_sam())
    path = f"/ops/people/{rosa.conversation.pk}/"
    head = f"HEAD {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: companion={cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as caller:
        caller.sendall(
            f"{head}GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        )
        received = b"".join(iter(lambda: caller.recv(65_536), b""))

    of_page, _, rest = received.partition(b"\r\n\r\n")

    length = re.search(rb"Content-Length: (\d+)", of_page)
    assert of_page.startswith(b"HTTP/1.1 200") and length and int(length[1]) > 2 * 65_536
    assert rest.startswith(b"HTTP/1.1 200") and b'{"alive": true}' in rest


async def test_what_clients_cause_again_and_again_is_one_line_in_the_log(
    another_web: Callable[..., Web],
) -> None:
    web = another_web()
    at_start = len(web.log_text)
    async with httpx.AsyncClient(base_url=web.url, trust_env=False) as browser:
        for number in range(50):
            answer = await browser.get("/card/", headers={"Host": f"name{number}.example"})
            assert answer.status_code == 400
    unknown = web.socket_url.replace("/chat/", "/elsewhere/")
    for _ in range(50):
        with pytest.raises(websockets.InvalidStatus) as refusal:
            async with connect(unknown, origin=web.url, proxy=None):  # type: ignore[arg-type]
                pass
        assert refusal.value.response.status_code == 403
    lines = [line for line in web.log_text[at_start:].splitlines() if "WARNING" in line or "ERROR" in line]
    assert len(lines) == 2, lines
    assert sum("socket.unknown_path" in line for line in lines) == 1
    assert "Traceback" not in web.log_text
