"""A database that stalls while its callers hang up: once it goes on, so do the pages."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from tests.patience import wait_until
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import open_staff_client

POOL_SIZE = 8
WAITING_FOR_LOCK = (
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'django_session'::regclass"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def read_beat_at(cursor: CursorWrapper, service: Web) -> datetime:
    cursor.execute("SELECT max(beat_at) FROM companion_process WHERE pid = %s", [service.process.pid])
    beat_at: datetime = cursor.fetchone()[0]
    return beat_at


def test_callers_who_hang_up_while_the_database_stalls_take_no_connection_with_them(
    another_web: Callable[..., Web], people: People
) -> None:
    service = another_web()
    with open_staff_client(service, people.add_sam(), people.password) as staff_client:
        cookie = staff_client.cookies["companion"]
        request = f"GET /ops/ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: companion={cookie}\r\n\r\n"

        def stall() -> None:
            with transaction.atomic(), connection.cursor() as cursor, ExitStack() as callers:
                cursor.execute("LOCK TABLE django_session IN ACCESS EXCLUSIVE MODE")
                for _ in range(POOL_SIZE):
                    caller = socket.create_connection(("127.0.0.1", service.port))
                    callers.callback(caller.close)
                    caller.sendall(request.encode())

                def holds_every_connection() -> bool:
                    cursor.execute(WAITING_FOR_LOCK)
                    return bool(cursor.fetchone()[0] >= POOL_SIZE)

                wait_until(holds_every_connection)
                # All in one moment, so that Daphne gives all of them up at one look.
                callers.close()
                wait_until(lambda: "took too long to shut down" in service.log_text, within_s=30)
                # What goes on is cancelled again a second later, and only the first time is written. The heartbeat
                # comes from the same event loop, at most once a second.
                for _ in range(3):
                    beat_at = read_beat_at(cursor, service)
                    wait_until(lambda beat_at=beat_at: read_beat_at(cursor, service) > beat_at)  # type: ignore[misc]

        in_database(stall)

        assert staff_client.get("/ops/", timeout=30).status_code == 200
    assert " /ops/" not in service.log_text
