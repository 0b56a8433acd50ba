"""The guard that keeps tests on this machine, itself under test."""

import asyncio
import socket

import httpx
import pytest

from tests.loopback_only import ConnectedBeyondLoopback, Guard, guard, is_this_machine

# An address of the block that is reserved for documentation (RFC 5737): no machine answers there.
ELSEWHERE = "192.0.2.1"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST.", "", "0.0.0.0", "::1%lo"]
)
def test_this_machine_is_here(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "10.0.0.1", "example.org", "localhost.example.org", "2001:db8::1"]
)
def test_everything_else_is_elsewhere(host: str) -> None:
    assert not is_this_machine(host)


def test_a_connection_beyond_this_machine_is_refused_before_it_leaves() -> None:
    with socket.socket() as caller, pytest.raises(ConnectedBeyondLoopback):
        caller.connect((ELSEWHERE, 80))
    assert guard.refused == [ELSEWHERE]
    guard.refused.clear()


def test_a_name_beyond_this_machine_is_not_even_looked_up() -> None:
    with pytest.raises(ConnectedBeyondLoopback):
        socket.getaddrinfo("example.org", 443)
    guard.refused.clear()


async def test_an_event_loop_is_held_to_it_as_well() -> None:
    with pytest.raises(OSError, match="tests talk to this machine alone"):
        await asyncio.open_connection(ELSEWHERE, 80)
    guard.refused.clear()


def test_an_http_client_is_held_to_it_as_well() -> None:
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{ELSEWHERE}/", trust_env=False)
    assert guard.refused
    guard.refused.clear()


def test_a_local_socket_by_path_is_no_concern_of_the_guard() -> None:
    watching = Guard()
    watching.watching = True

    watching.audit("socket.connect", (None, "/run/somewhere/.s.PGSQL.5432"))

    assert watching.refused == []


def test_it_is_at_rest_outside_a_test() -> None:
    watching = Guard()

    watching.audit("socket.connect", (None, (ELSEWHERE, 80)))

    assert watching.refused == []
