"""What is measured at each size, over the product's own code: pages and sockets of a real web process, jobs in process.

`OPERATIONS` of `plan` says what of it belongs to what grows.
"""

import asyncio
import itertools
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db import connection, transaction
from django.utils import timezone
from psycopg_pool import AsyncConnectionPool

from companion.ledger import Ledger
from companion.models import Participant
from companion.turn_policy import TurnPolicy
from companion.waiting_room import lock_gate, run_gate
from ops.alerts.watch import AlertWatch
from ops.chat_client.frames import STAFF_SOCKET_PATH, socket_url
from ops.growth.clients import (
    MS,
    MeasuredSocket,
    OperationFailed,
    PageReader,
    time_hello,
    time_queueing,
    time_reply,
)
from ops.growth.plan_log import MARK
from ops.minutes import get_last_hour
from ops.personal_data.retention import apply_retention
from ops.personal_data.turn_deletion import delete_oldest_turns
from ops.supervision.escalation import escalate_due
from routing.chain import Route

FREE_A_SLOT = f"""
/* {MARK} */ UPDATE companion_turn SET state = 'stopped', closed_at = clock_timestamp()
WHERE id = (SELECT min(id) FROM companion_turn WHERE state = 'speaking') RETURNING id
"""
DASHBOARD_SOCKET_PATH = "/ws/ops/"
WATCHED_PAGES = 50
"""Pages that are open at the process whose sweep is measured."""
DELETED_TURNS = 500

Timed = Mapping[str, float]
"""What was timed, in milliseconds; the whole last. Empty: only its plans count."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """`run` does it once. `units`: how many equal things it goes through, which its cost is divided by."""

    title: str
    run: Callable[[], Timed]
    repeats: int | None = None
    """How often it is done; None: as often as the plan says."""
    units: Callable[[], float] = lambda: 1.0


@dataclass(frozen=True, kw_only=True)
class MeasuredPeople:
    """Who is measured: participants by session key and conversation, a supervisor of their site, an operator."""

    site: int
    session_keys: Sequence[str]
    writers: Sequence[str]
    """The session keys of those who write while no particular conversation is measured."""
    conversations: Sequence[int]
    supervisor: str
    operator: str
    token: str
    """The bearer token of the status address."""


@dataclass(frozen=True, kw_only=True)
class ServiceParts:
    """What a web process is made of. `build_pool` makes the pool of turns and sockets."""

    policy: TurnPolicy
    route: Route
    build_pool: Callable[[], AsyncConnectionPool[Any]]


class Operations:
    """The operations by name. Opens connections of its own; `close` ends them."""

    def __init__(self, web_url: str, people: MeasuredPeople, parts: ServiceParts) -> None:
        self._people = people
        self._policy = parts.policy
        self._socket = socket_url(web_url)
        self._staff_socket = socket_url(web_url, STAFF_SOCKET_PATH)
        self._dashboard_socket = socket_url(web_url, DASHBOARD_SOCKET_PATH)
        self._writers = itertools.cycle(people.writers)
        """In turn, so that none says more in a minute than one person may."""
        self._reader = 0
        self._page = PageReader(web_url, people.session_keys[0])
        self._supervisor = PageReader(web_url, people.supervisor)
        self._operator = PageReader(web_url, people.operator)
        self._bearer = PageReader(web_url, token=people.token)
        self._runner = asyncio.Runner()
        self._pool = self._run(_open_pool(parts.build_pool))
        self._ledger = Ledger(
            self._pool,
            parts.policy,
            process=uuid.uuid4(),
            on_change=lambda result, ended: None,
            route=lambda: parts.route,
        )
        self._watch = AlertWatch(self._pool, persona_versions=parts.policy.list_versions())
        self._by_name = {
            **self._of_participants(),
            **self._of_staff(),
            **self._of_record(),
            **self._in_process(),
        }

    def __getitem__(self, name: str) -> Operation:
        return self._by_name[name]

    def close(self) -> None:
        for browser in (self._page, self._supervisor, self._operator, self._bearer):
            browser.close()
        self._run(self._pool.close())
        self._runner.close()

    @contextmanager
    def reading(self, place: int) -> Iterator[None]:
        """Let the operations on one conversation be on that of this person."""
        before, self._reader = self._reader, place
        self._page.sign_in(self._people.session_keys[place])
        try:
            yield
        finally:
            self._reader = before
            self._page.sign_in(self._people.session_keys[before])

    @contextmanager
    def open_screens(self) -> Iterator[None]:
        """Keep a chat, a desk and a dashboard open."""
        sockets = [
            self._run(MeasuredSocket.open(self._socket, self._session_key)),
            self._run(MeasuredSocket.open(self._staff_socket, self._people.supervisor)),
            self._run(MeasuredSocket.open(self._dashboard_socket, self._people.operator)),
        ]
        try:
            yield
        finally:
            for socket in sockets:
                socket.close()

    def idle(self, seconds: float) -> None:
        """Do nothing but read what open screens are sent."""
        self._run(asyncio.sleep(seconds))

    def _of_participants(self) -> dict[str, Operation]:
        return {
            "page": Operation(title="the chat's page", run=lambda: self._page.time_page("/chat/")),
            "hello": Operation(
                title="opening the chat's socket",
                run=lambda: self._run(time_hello(self._socket, self._session_key)),
            ),
            "reply": Operation(
                title="saying something, and its reply",
                run=lambda: self._run(time_reply(self._socket, self._next_writer())),
            ),
            "queue": Operation(
                title="saying something, and waiting",
                run=lambda: self._run(time_queueing(self._socket, next(self._writers))),
            ),
            "earlier": Operation(title="earlier turns", run=self._read_earlier),
        }

    def _of_staff(self) -> dict[str, Operation]:
        supervisor, operator = self._supervisor, self._operator
        lists = {
            f"list_{name}": _page(f"list of turns: {name}", supervisor, f"/ops/turns/?show={name}")
            for name in ("now", "answered", "paused", "held", "expired", "refused")
        }
        return {
            "status": _page("the status address", self._bearer, "/ops/status.json"),
            "dashboard": _page("the dashboard", operator, "/ops/"),
            "desk": Operation(
                title="opening the desk's socket",
                run=lambda: self._run(time_hello(self._staff_socket, self._people.supervisor)),
            ),
            "people": _page("the desk: people and flags", supervisor, "/ops/people/"),
            "search": _page("searching people", supervisor, "/ops/people/?name=ad"),
            **lists,
            "list_all_paused": _page("list of all sites: paused", operator, "/ops/turns/?show=paused"),
            "shift": _page("the shift", supervisor, "/ops/shift/"),
            "times": _page("times of flags", supervisor, "/ops/shift/times/"),
            "needs_reviews": _page("needs to review", supervisor, "/ops/needs/"),
            "cards": _page("cards", supervisor, "/ops/cards/"),
            "conversation_page": Operation(
                title="a conversation as staff read it",
                run=lambda: supervisor.time_page(f"/ops/people/{self._conversation}/"),
            ),
            "print": Operation(
                title="a conversation to print",
                run=lambda: supervisor.time_page(f"/ops/people/{self._conversation}/print/"),
            ),
        }

    def _of_record(self) -> dict[str, Operation]:
        lately = f"{timezone.localdate():%Y-%m-%d}"
        searches = {
            "record_of_site": ("the record of one site", self._supervisor, {}),
            "record_of_person": ("the record of one person", self._operator, {"person": "17"}),
            "record_by_who": ("the record by one account", self._operator, {"who": "staff-7"}),
            "record_by_act": ("the record of one act", self._operator, {"what": "ended_visit"}),
            "record_since": ("the record since today", self._operator, {"since": lately}),
            "record_all": ("the whole record", self._operator, {}),
        }
        return {
            name: _page(title, browser, f"/ops/record/?{urlencode({'who': '', **query})}")
            for name, (title, browser, query) in searches.items()
        }

    def _in_process(self) -> dict[str, Operation]:
        return {
            "gate": Operation(title="the gate, with one free slot", run=lambda: self._run(self._run_gate())),
            "sweep": Operation(title="the sweep", run=lambda: self._run(self._sweep())),
            "minute": Operation(title="what is done once a minute", run=self._do_minute),
            "retention": Operation(
                title="retention, for each person",
                run=self._retain,
                repeats=1,
                units=Participant.objects.count,
            ),
            "retention_batch": Operation(title=f"deleting {DELETED_TURNS} turns", run=self._delete_turns),
            # Measured by watching, not by doing.
            "second": Operation(title="a process by itself, for each second", run=dict),
        }

    @property
    def _session_key(self) -> str:
        return self._people.session_keys[self._reader]

    @property
    def _conversation(self) -> int:
        return self._people.conversations[self._reader]

    def _next_writer(self) -> str:
        return self._session_key if self._reader else next(self._writers)

    def _read_earlier(self) -> Timed:
        return self._page.time_page(f"/chat/turns/?before={2**40}")

    async def _run_gate(self) -> Timed:
        async with (
            self._pool.connection() as native,
            native.pipeline(),
            native.transaction(force_rollback=True),
            native.cursor() as cursor,
        ):
            await lock_gate(cursor)
            await cursor.execute(FREE_A_SLOT)
            # The answer shows that the statements before are over: only the gate is timed.
            freed = await cursor.fetchall()
            began = time.perf_counter()
            result = await run_gate(cursor, self._policy)
            took = time.perf_counter() - began
        if len(result.admitted) != len(freed):
            raise OperationFailed(f"The gate admitted {len(result.admitted)} turns to one free slot.")
        return {"gate": took * MS}

    async def _sweep(self) -> Timed:
        began = time.perf_counter()
        await self._ledger.sweep(running=[], watched=list(self._people.conversations)[:WATCHED_PAGES])
        return {"sweep": (time.perf_counter() - began) * MS}

    def _do_minute(self) -> Timed:
        began = time.perf_counter()
        get_last_hour()
        escalate_due()
        self._run(self._watch.look())
        return {"minute": (time.perf_counter() - began) * MS}

    def _retain(self) -> Timed:
        began = time.perf_counter()
        apply_retention(by=MARK)
        return {"retention": (time.perf_counter() - began) * MS}

    def _delete_turns(self) -> Timed:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"/* {MARK} */ SELECT conversation_id FROM companion_turn ORDER BY id DESC LIMIT 1"
            )
            [conversation] = cursor.fetchone()
            began = time.perf_counter()
            delete_oldest_turns(conversation, at_most=DELETED_TURNS)
            took = time.perf_counter() - began
            transaction.set_rollback(True)
        return {"batch": took * MS}

    def _run(self, call: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await call

        return self._runner.run(wait())


async def _open_pool(build: Callable[[], AsyncConnectionPool[Any]]) -> AsyncConnectionPool[Any]:
    pool = build()
    await pool.open()
    return pool


def _page(title: str, browser: PageReader, path: str) -> Operation:
    return Operation(title=title, run=lambda: browser.time_page(path))
