"""Tokens and cost by lane and day: gathered in each web process, and added to one row for each lane and day."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
from django.db import connection
from psycopg_pool import AsyncConnectionPool

from companion.states import TurnState
from companion.turn_end import TurnEnd
from routing.contracts import Lane
from routing.lanes import NORMAL, Routing
from routing.retry import RULES

log = logging.getLogger(__name__)

EVERY_S = 10.0
SHOWN_DAYS = 7
KEEP_DAYS = 800

# Rows are taken in the same order by every process, so that no two wait for each other.
ADD = """
INSERT INTO ops_laneday AS d (day, lane, currency, calls, calls_told, input_tokens, output_tokens, cost,
                              replies, replies_unmarked, cheaper_than)
VALUES ((clock_timestamp() AT TIME ZONE 'UTC')::date, %(lane)s, %(currency)s, %(calls)s, %(calls_told)s,
        %(input_tokens)s, %(output_tokens)s, %(cost)s, %(replies)s, %(replies_unmarked)s, %(cheaper_than)s)
ON CONFLICT (day, lane, currency) DO UPDATE SET
    calls = d.calls + excluded.calls, calls_told = d.calls_told + excluded.calls_told,
    input_tokens = d.input_tokens + excluded.input_tokens, output_tokens = d.output_tokens + excluded.output_tokens,
    cost = d.cost + excluded.cost, replies = d.replies + excluded.replies,
    replies_unmarked = d.replies_unmarked + excluded.replies_unmarked, cheaper_than = excluded.cheaper_than
"""

DAYS = """
SELECT day, lane, currency, calls, calls_told, input_tokens, output_tokens, cost, replies
FROM ops_laneday WHERE day > (statement_timestamp() AT TIME ZONE 'UTC')::date - %s::int
ORDER BY day DESC, lane, currency
"""
FORGET = f"""
DELETE FROM ops_laneday WHERE day < (statement_timestamp() AT TIME ZONE 'UTC')::date - {KEEP_DAYS}
"""


@dataclass(kw_only=True, slots=True)
class _Sum:
    """What is not written yet of one lane."""

    calls: int = 0
    calls_told: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = field(default_factory=Decimal)
    replies: int = 0
    replies_unmarked: int = 0

    def add(self, other: "_Sum") -> None:
        for name in _Sum.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class UsageBook:
    """Adds up what calls took, and writes it every few seconds. Kept while the database is away.

    A process that is killed loses what it has not written: the figures are for people who plan, and no bill.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], routing: Routing, *, every_s: float = EVERY_S) -> None:
        self._pool = pool
        self._lanes = routing.lanes
        self._head = routing.lanes[routing.presets[NORMAL].chain[0]]
        self._every_s = every_s
        self._kept: dict[str, _Sum] = {}

    def heard(self, end: TurnEnd) -> None:
        """A turn has ended like this."""
        for attempt in end.attempts:
            if attempt.lane not in self._lanes:
                continue
            if attempt.failure is not None and not RULES[attempt.failure].is_call:
                continue
            kept = self._kept.setdefault(attempt.lane, _Sum())
            kept.calls += 1
            if attempt.usage is not None:
                kept.calls_told += 1
                kept.input_tokens += attempt.usage.input_tokens
                kept.output_tokens += attempt.usage.output_tokens
                if prices := self._lanes[attempt.lane].prices:
                    kept.cost += prices.cost(
                        input_tokens=attempt.usage.input_tokens, output_tokens=attempt.usage.output_tokens
                    )
            if attempt.failure is None and end.state is TurnState.COMPLETE:
                kept.replies += 1
                kept.replies_unmarked += not end.marked

    async def run(self) -> None:
        """Write every few seconds, until cancelled; and then what is left."""
        try:
            while True:
                await asyncio.sleep(self._every_s)
                try:
                    await self.write()
                except (psycopg.Error, TimeoutError) as failure:
                    log.warning("usage.unwritten cause=%s", type(failure).__name__)
        finally:
            with contextlib.suppress(psycopg.Error, TimeoutError):
                await self.write()

    async def write(self) -> None:
        """Write what has been gathered. Raises psycopg.Error or TimeoutError, and keeps it then."""
        if not self._kept:
            return
        found, self._kept = self._kept, {}
        try:
            async with asyncio.timeout(5), self._pool.connection() as connection, connection.transaction():
                for name in sorted(found):
                    await connection.execute(ADD, self._facts(self._lanes[name], found[name]))
        except BaseException:
            for name, kept in found.items():
                self._kept.setdefault(name, _Sum()).add(kept)
            raise

    def _facts(self, lane: Lane, kept: _Sum) -> Mapping[str, Any]:
        head, prices = self._head, lane.prices
        is_cheaper = bool(prices and head.prices and prices.is_below(head.prices))
        return {
            "lane": lane.name,
            "currency": prices.currency if prices else "",
            "cheaper_than": head.name if is_cheaper else "",
            **{name: getattr(kept, name) for name in _Sum.__slots__},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """What one lane took on one day (UTC)."""

    day: date
    lane: str
    currency: str
    """Empty: no price is known."""
    calls: int
    calls_told: int
    """Calls whose provider told how many tokens they took. The figures below are of these alone."""
    input_tokens: int
    output_tokens: int
    cost: Decimal
    replies: int

    @property
    def tokens_said(self) -> str:
        """The tokens, in words."""
        if not self.calls_told:
            return "not told"
        said = f"{self.input_tokens:,} in, {self.output_tokens:,} out"
        untold = self.calls - self.calls_told
        if not untold:
            return said
        return f"{said} (not told for {untold:,} {'call' if untold == 1 else 'calls'})"

    @property
    def cost_said(self) -> str:
        """The cost, in words."""
        if not self.currency:
            return "no price is set"
        return f"{self.cost:,.2f} {self.currency}" if self.calls_told else "not told"

    def document(self) -> dict[str, Any]:
        """For programs. What is not known is null."""
        is_told = self.calls_told > 0
        return {
            "day": self.day.isoformat(),
            "lane": self.lane,
            "calls": self.calls,
            "calls_told": self.calls_told,
            "replies": self.replies,
            "input_tokens": self.input_tokens if is_told else None,
            "output_tokens": self.output_tokens if is_told else None,
            "cost": float(self.cost) if is_told and self.currency else None,
            "currency": self.currency or None,
        }


def days(many: int = SHOWN_DAYS) -> tuple[Day, ...]:
    """The last days, today first, each with the lanes that were called. Uses Django's connection."""
    return tuple(_days(many))


def _days(many: int) -> Iterator[Day]:
    with connection.cursor() as cursor:
        cursor.execute(DAYS, [many])
        for row in cursor.fetchall():
            yield Day(**dict(zip(Day.__slots__, row, strict=True)))
