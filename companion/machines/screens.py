"""The open waiting pages of one process: what each shows is read for all of them together, at each notification.

A notification may be lost, so the rows are read every second as well while such a page is open.
"""

import asyncio
import contextvars
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

from psycopg_pool import AsyncConnectionPool

from companion.machines.asking import (
    PERSON_COLUMNS,
    PERSON_JOINS,
    AskedPerson,
    Speaker,
    first_name,
    read_asked,
    write_question,
)
from companion.machines.offers import OFFER_IS_OPEN
from companion.machines.registry import MachineState, judge
from companion.machines.tokens import MachineToken
from companion.notifications import MachinesChanged, Notification

log = logging.getLogger(__name__)

POLL_S = 1.0
RETRY_S = 0.25
READ_TIMEOUT_S = 5.0
MAX_SCREENS_PER_MACHINE = 10
SEEN_EVERY_S = 60

READ = f"""
SELECT m.id, m.token_hash, m.former_hash, m.withdrawn_at IS NOT NULL, m.copied_at IS NOT NULL,
       o.id, {PERSON_COLUMNS}
FROM companion_machine m
LEFT JOIN LATERAL (
    SELECT * FROM companion_visitoffer WHERE machine_id = m.id ORDER BY machine_id, id DESC LIMIT 1
) o ON {OFFER_IS_OPEN}
{PERSON_JOINS}
WHERE m.id = ANY(%(machines)s)
"""
MARK_SEEN = """
UPDATE companion_machine SET seen_at = clock_timestamp() WHERE id = ANY(%(machines)s)
  AND (seen_at IS NULL OR seen_at NOT BETWEEN clock_timestamp() - make_interval(secs => %(every_s)s)
                                          AND clock_timestamp())
"""


class MachineScreen(Protocol):
    """An open waiting page."""

    token: MachineToken

    async def show(self, frame: dict[str, Any]) -> None: ...
    async def deny(self) -> None: ...
    async def close(self, code: int) -> None: ...


class MachineScreens:
    """Keeps the waiting pages of one process right. Reads only while there are some.

    `languages`: who asks, by language.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], languages: Mapping[str, Speaker]) -> None:
        self._pool = pool
        self._languages = languages
        self._shown: dict[MachineScreen, dict[str, Any] | None] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_open = False
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._shown)

    @property
    def is_closing(self) -> bool:
        """Whether this process is leaving."""
        return self._is_closing

    def has_room(self, token: MachineToken) -> bool:
        """Whether this machine may open one more waiting page here."""
        return sum(screen.token.machine == token.machine for screen in self._shown) < MAX_SCREENS_PER_MACHINE

    async def admit(self, token: MachineToken) -> bool:
        """Whether the cookie names a machine that may open visits now. Raises psycopg.Error."""
        if not self._is_open:
            self._is_open = True
            await self._pool.open()
        rows = await self._read([token.machine])
        row = rows.get(token.machine)
        return row is not None and judge(row, token) is MachineState.READY

    def add(self, screen: MachineScreen) -> None:
        """Show what the machine is asked, from now on."""
        self._shown[screen] = None
        self._wake.set()
        if self._task is None or self._task.done():
            # An empty context: it outlives the request that started it.
            self._task = asyncio.create_task(self._run(), context=contextvars.Context())

    def remove(self, screen: MachineScreen) -> None:
        """Send the page nothing more."""
        self._shown.pop(screen, None)

    def on_notification(self, notification: Notification) -> None:
        """Read again what an open page shows, if the notification names its machine."""
        if isinstance(notification, MachinesChanged):
            changed = set(notification.machines)
            if any(screen.token.machine in changed for screen in self._shown):
                self._wake.set()

    async def close(self, code: int) -> None:
        """Close every page's socket with this code, and stop reading."""
        self._is_closing = True
        await asyncio.gather(*(screen.close(code) for screen in list(self._shown)), return_exceptions=True)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._is_open:
            await self._pool.close(timeout=2)

    async def _run(self) -> None:
        while self._shown:
            try:
                async with asyncio.timeout(READ_TIMEOUT_S):
                    await self._refresh()
            except Exception as failure:
                # It goes on after any failure: without it no page is ever asked.
                log.warning("machines.cannot_read screens=%d cause=%s", len(self), type(failure).__name__)
                await asyncio.sleep(RETRY_S)
                continue
            try:
                async with asyncio.timeout(POLL_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()

    async def _refresh(self) -> None:
        machines = {screen.token.machine for screen in self._shown}
        rows = await self._read(machines)
        for screen, shown in list(self._shown.items()):
            row = rows.get(screen.token.machine)
            if row is None or judge(row, screen.token) is not MachineState.READY:
                # The page loads again with what its browser holds by now, and says what is true.
                await screen.deny()
                continue
            frame = build_frame(read_asked(row[4:]), self._languages)
            if frame != shown and screen in self._shown:
                self._shown[screen] = frame
                await screen.show(frame)

    async def _read(self, machines: Iterable[UUID]) -> dict[UUID, tuple[Any, ...]]:
        facts = {"machines": list(machines), "every_s": SEEN_EVERY_S}
        async with self._pool.connection() as native, native.cursor() as cursor:
            await cursor.execute(READ, facts)
            rows = {row[0]: row[1:] for row in await cursor.fetchall()}
            await cursor.execute(MARK_SEEN, facts)
        return rows


def build_frame(asked: AskedPerson | None, languages: Mapping[str, Speaker]) -> dict[str, Any]:
    """`waiting`, or `offer` {offer, name, language, question, yes, no, look}: the question as the person reads it.

    Pages of the release before read `offer` and `name` alone.
    """
    if asked is None:
        return {"type": "waiting"}
    question = write_question(asked, languages)
    return {
        "type": "offer",
        "offer": asked.offer,
        "name": first_name(asked.name),
        "language": question.language,
        "question": question.text,
        "yes": question.yes,
        "no": question.no,
        "look": asked.look,
    }
