"""A process that is told to leave while it makes a page: it leaves, and a page that can be made is still made."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from companion.models import Process
from tests.patience import wait_until
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import open_staff_client

WAITING_FOR_LOCK = (
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'django_session'::regclass"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
LEAVES_WITHIN_S = 25
"""As `scripts/up` waits for it."""


@contextmanager
def stall_page(web: Web, cookie: str) -> Iterator[socket.socket]:
    """A client of a page whose request waits for a lock within this block. Runs in the database thread."""
    with (
        transaction.atomic(),
        connection.cursor() as cursor,
        socket.create_connection(("127.0.0.1", web.port)) as client,
    ):
        cursor.execute("LOCK TABLE django_session IN ACCESS EXCLUSIVE MODE")
        request = f"GET /ops/ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: companion={cookie}\r\n\r\n"
        client.sendall(request.encode())

        def is_waiting() -> bool:
            cursor.execute(WAITING_FOR_LOCK)
            return bool(cursor.fetchone()[0])

        wait_until(is_waiting)
        yield client


@pytest.fixture
def leaving(another_web: Callable[..., Web], people: People) -> tuple[Web, str]:
    """A process, and the cookie of a supervisor who is signed in there."""
    web = another_web()
    with open_staff_client(web, people.add_sam(), people.password) as staff_client:
        return web, staff_client.cookies["companion"]


def test_a_page_that_cannot_be_made_does_not_keep_the_process(leaving: tuple[Web, str]) -> None:
    web, cookie = leaving

    def leave_while_it_waits() -> int:
        with stall_page(web, cookie):
            return web.end(LEAVES_WITHIN_S)

    assert in_database(leave_while_it_waits) == 0
    assert "web.left_requests requests=1" in web.log_text


def test_a_page_that_can_be_made_is_made_before_the_process_leaves(leaving: tuple[Web, str]) -> None:
    web, cookie = leaving

    def leave_then_let_it_go_on() -> socket.socket:
        with stall_page(web, cookie) as client:
            row = Process.objects.filter(pid=web.process.pid, draining=True)
            web.signal(signal.SIGTERM)
            wait_until(row.exists)
            return client.dup()

    with in_database(leave_then_let_it_go_on) as client:
        client.settimeout(LEAVES_WITHIN_S)
        assert client.recv(200).startswith(b"HTTP/1.1 200")
    assert web.end(LEAVES_WITHIN_S) == 0
    assert "web.left_requests" not in web.log_text
