"""The listening sockets that outlive a web process, and the page that stands on them meanwhile."""

import http.client
import re
import socket
import time
from collections.abc import Iterator

import pytest

from ops.page_wording import lint_page
from ops.stack.doors import Door, open_doors
from ops.stack.errors import CannotStart, PortInUse
from ops.stack.unavailable import PAGES


@pytest.fixture
def door() -> Iterator[Door]:
    with open_doors([0]) as doors:
        doors[0].port = doors[0].socket.getsockname()[1]
        yield doors[0]


def ask(
    door: Door, method: str, path: str, headers: dict[str, str] | None = None
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    answer.body = answer.read().decode()  # type: ignore[attr-defined]
    connection.close()
    return answer


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/chat/", "/card/abc/", "/healthz", "/static/companion/chat.js"])
def test_every_request_is_answered_with_the_page_under_503(door: Door, method: str, path: str) -> None:
    door.say_unavailable()

    answer = ask(door, method, path)

    assert answer.status == 503
    assert answer.headers["Retry-After"] == "15"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "You can talk to the staff here." in answer.body  # type: ignore[attr-defined]


def test_a_socket_that_wants_to_be_upgraded_gets_503_as_well(door: Door) -> None:
    door.say_unavailable()

    answer = ask(door, "GET", "/ws/chat/", {"Connection": "Upgrade", "Upgrade": "websocket"})

    assert answer.status == 503


def test_every_part_of_the_page_is_there_and_it_asks_no_other_origin_for_anything(door: Door) -> None:
    door.say_unavailable()
    page = PAGES["en"].read_text()

    parts = [ask(door, "GET", address) for address in re.findall(r'(?:href|src)="([^"]+)"', page)]

    assert len(parts) == 8
    assert {part.status for part in parts} == {200}
    assert {part.headers["Content-Type"].split(";")[0] for part in parts} == {
        "text/css",
        "text/javascript",
        "image/svg+xml",
    }
    assert all("default-src 'none'" in part.headers["Content-Security-Policy"] for part in parts)
    assert "http" not in page
    assert "style=" not in page


def test_a_page_that_answers_a_form_does_not_send_the_form_again(door: Door) -> None:
    door.say_unavailable()

    assert 'data-next=""' in ask(door, "GET", "/card/abc/").body  # type: ignore[attr-defined]
    assert 'data-next="/"' in ask(door, "POST", "/chat/finish/").body  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", PAGES)
def test_the_page_is_worded_by_the_rules_for_drafted_lines(language: str) -> None:
    text = PAGES[language].read_text()

    assert lint_page("unavailable.html", text, language) == []
    assert f'<html lang="{language}">' in text


def test_the_page_is_the_same_in_every_language_but_for_its_words() -> None:
    shapes = {
        re.sub(r'>[^<]*<|(?:lang|aria-label)="[^"]*"', "><", path.read_text()) for path in PAGES.values()
    }

    assert len(shapes) == 1


@pytest.mark.parametrize(
    ("accepted", "words"),
    [
        ("", "The chat is not working now."),
        ("es-MX,es;q=0.9,en;q=0.8", "El chat no está abierto ahora."),
        ("fr-CH, fr;q=0.9, es;q=0.8, en;q=0.7", "El chat no está abierto ahora."),
        ("en-GB,es;q=0.5", "The chat is not working now."),
        ("*", "The chat is not working now."),
        ("estonian;;;q=x,,", "The chat is not working now."),
    ],
)
def test_the_page_is_in_the_language_that_the_browser_asks_for(door: Door, accepted: str, words: str) -> None:
    door.say_unavailable()

    for method in ("GET", "POST"):
        answer = ask(door, method, "/chat/", {"Accept-Language": accepted} if accepted else {})
        assert words in answer.body  # type: ignore[attr-defined]


def test_a_caller_who_comes_between_two_answerers_is_answered_by_the_second(door: Door) -> None:
    door.say_unavailable()
    door.hand_over()
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as caller:
        caller.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")

        door.say_unavailable()

        assert caller.recv(1024).startswith(b"HTTP/1.1 503 ")


@pytest.mark.long
def test_a_request_that_trickles_is_ended_all_the_same(door: Door) -> None:
    door.say_unavailable()
    with socket.create_connection(("127.0.0.1", door.port), timeout=0.5) as caller:
        caller.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        began = time.monotonic()
        with pytest.raises((BrokenPipeError, ConnectionResetError, EOFError)):
            while time.monotonic() - began < 30:
                try:
                    if not caller.recv(1_024):
                        raise EOFError
                except TimeoutError:
                    caller.sendall(b"x")
    assert time.monotonic() - began < 20
    assert ask(door, "GET", "/").status == 503


def test_a_caller_who_says_nothing_does_not_keep_others_waiting(door: Door) -> None:
    door.say_unavailable()
    with socket.create_connection(("127.0.0.1", door.port)):
        assert ask(door, "GET", "/").status == 503


def test_a_port_of_another_program_is_refused_by_name_and_none_is_kept(door: Door) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(PortInUse, match=f"Port {door.port} is in use"), open_doors([port, door.port]):
        pass

    with socket.socket() as again:
        again.bind(("127.0.0.1", port))


def test_a_number_that_is_no_port_is_refused() -> None:
    with pytest.raises(CannotStart, match="not a port"):
        Door(70_000)
