"""A pytest plugin: a test fails if any library it uses connects beyond this machine.

The guard is an audit hook for every `connect` and every name lookup of the interpreter. A refused address raises
at once, so nothing leaves the machine. It is also recorded, so the test fails even if other code swallows the
exception.
"""

import ipaddress
import sys
from collections.abc import Iterator

import pytest

HERE = {"localhost", "localhost.localdomain", "ip6-localhost", ""}
CONNECTS = {"socket.connect", "socket.sendto"}
LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname"}
WATCHED = frozenset(CONNECTS | LOOK_UPS)


class ConnectedBeyondLoopback(OSError):
    """A test tried to reach another machine."""


class Guard:
    """The state of the audit hook. Python cannot remove a hook, so `watching` switches it."""

    def __init__(self) -> None:
        self.watching = False
        self.refused: list[str] = []

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Refuse addresses of other machines. Runs for every event of the interpreter, so it returns early."""
        if event not in WATCHED or not self.watching:
            return
        host = _peer_host(arguments[1]) if event in CONNECTS else _decode_host(arguments[0])
        if not is_this_machine(host):
            self.refused.append(host)
            raise ConnectedBeyondLoopback(f"a test tried to reach {host}; tests talk to this machine alone")


def is_this_machine(host: str) -> bool:
    """Whether a host, as a name or an address, is this machine."""
    if host.lower().rstrip(".") in HERE:
        return True
    try:
        address = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _peer_host(address: object) -> str:
    # An internet socket gives a tuple (host, port, …); a local socket gives its path as text or bytes.
    return _decode_host(address[0]) if isinstance(address, tuple) else ""


def _decode_host(host: object) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")


guard = Guard()
sys.addaudithook(guard.audit)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Watch set-up, test and tear-down."""
    guard.watching = True
    try:
        return (yield)
    finally:
        guard.watching = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test whose refused connection was swallowed."""
    guard.refused.clear()
    outcome = yield
    refused, guard.refused = guard.refused, []
    if refused:
        pytest.fail(f"it tried to reach {', '.join(sorted(set(refused)))}", pytrace=False)
    return outcome
