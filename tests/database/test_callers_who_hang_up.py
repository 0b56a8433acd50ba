"""A database that stalls while its callers hang up: once it goes on, so do the pages."""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack

from django.db import connection, transaction

from tests.patience import wait_until
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import open_staff_client

POOL_SIZE = 8
WAITING_FOR_LOCK = (
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'django_session'::regclass"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


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
                # Each is cancelled once a second, and only the first time is written.
                time.sleep(4)

        in_database(stall)

        assert staff_client.get("/ops/", timeout=30).status_code == 200
    assert "/ops/" not in service.log_text
