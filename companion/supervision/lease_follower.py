"""Ends, in every process and once a second, take-overs whose screens are gone and quiet spells whose time is over."""

import logging
from typing import Any
from uuid import UUID

from psycopg_pool import AsyncConnectionPool

from companion.supervision.control import notify_control_changed
from companion.supervision.flags import notify_flags_changed
from companion.supervision.quiet import end_quiet
from companion.supervision.take_overs import lose_leases
from companion.transactions import open_transaction
from companion.turn_policy import TurnPolicy

log = logging.getLogger(__name__)

TIMEOUT_S = 5.0


class LeaseFollower:
    """Of one process. Compare-and-set: of several processes that find the same row, one changes it."""

    def __init__(self, pool: AsyncConnectionPool[Any], policy: TurnPolicy, *, process: UUID) -> None:
        self._pool = pool
        self._policy = policy
        self._process = process

    async def check(self) -> list[int]:
        """Change what is over. Returns the conversations, whose sockets must read again. Raises psycopg.Error."""
        async with open_transaction(self._pool, within_s=TIMEOUT_S) as cursor:
            lost = await lose_leases(cursor, self._policy)
            changed = [*(lease.conversation for lease in lost), *await end_quiet(cursor)]
            await notify_control_changed(cursor, by=self._process, conversations=changed)
            await notify_flags_changed(cursor, [lease.flag for lease in lost])
        for lease in lost:
            log.warning("lease.lost conversation=%d flag=%d", lease.conversation, lease.flag.flag)
        return changed
