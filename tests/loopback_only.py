"""A pytest plugin: a test that connects beyond this machine fails, whatever library it does it with.

The guard stands at Python's own door to the system, the audit event of every `connect` and of every name that
is looked up. A refused address raises at once, so nothing leaves; and it is remembered, so a test also fails
when other code swallowed the exception.
"""

import ipaddress
import sys
from collections.abc import Iterator

import pytest

HERE = {"localhost", "localhost.localdomain", "ip6-localhost", ""}
CONNECTS = {"socket.connect", "socket.sendto"}
LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname"}


class ConnectedBeyondLoopback(OSError):
    """A test tried to reach another machine."""


class Guard:
    """What the audit hook, which can never be taken out again, reports to."""

    def __init__(self) -> None:
        self.watching = False
        self.refused: list[str] = []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """The audit hook itself: called for every event of the interpreter, so it decides quickly."""
        if not self.watching or event not in CONNECTS | LOOK_UPS:
            return
        host = _peer(arguments[1]) if event in CONNECTS else _text(arguments[0])
        if not stays_here(host):
            self.refused.append(host)
            raise ConnectedBeyondLoopback(f"a test tried to reach {host}; tests talk to this machine alone")


def stays_here(host: str) -> bool:
    """Whether a host, as a name or an address, is this machine."""
    if host.lower().rstrip(".") in HERE:
        return True
    try:
        address = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _peer(address: object) -> str:
    # A tuple is (host, port, …) of an internet socket; text or bytes are the path of a local one.
    return _text(address[0]) if isinstance(address, tuple) else ""


def _text(host: object) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")


guard = Guard()
sys.addaudithook(guard.hear)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Watch set-up, test and tear-down alike."""
    guard.watching = True
    try:
        return (yield)
    finally:
        guard.watching = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test whose attempt was swallowed somewhere."""
    guard.refused.clear()
    outcome = yield
    refused, guard.refused = guard.refused, []
    if refused:
        pytest.fail(f"it tried to reach {', '.join(sorted(set(refused)))}", pytrace=False)
    return outcome
