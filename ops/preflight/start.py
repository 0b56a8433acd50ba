"""What a process does about its database when it starts: waits for it, and refuses one that it cannot use."""

import asyncio
import logging

import psycopg

from ops.preflight.database import find_refusals
from ops.preflight.database_look import build_connect, look_at_database

log = logging.getLogger(__name__)

RETRY_S = 0.5


class DatabaseRefused(Exception):
    """The database can never serve this release as it is. The text says what is wrong and the mend."""


async def wait_for_database() -> None:
    """Wait until the database answers. Raises DatabaseRefused if a person must correct something first."""
    while True:
        try:
            await refuse_unusable()
            return
        except (psycopg.Error, TimeoutError) as failure:
            log.warning("process.waits_for_database cause=%s", type(failure).__name__)
            await asyncio.sleep(RETRY_S)


async def refuse_unusable() -> None:
    """Raise DatabaseRefused, or psycopg.Error or TimeoutError where the database does not answer."""
    facts = await look_at_database(build_connect())
    for refusal in find_refusals(facts):
        raise DatabaseRefused(f"{refusal.msg} {refusal.hint}")
