"""Tokens and cost by lane and day: summed in each web process, and added to one row for each lane and day."""

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
from django.utils.translation import gettext, ngettext
from psycopg_pool import AsyncConnectionPool

from companion.states import TurnState
from companion.turn_end import TurnEnd
from routing.contracts import Lane
from routing.lanes import NORMAL, Routing
from routing.retry import RULES

log = logging.getLogger(__name__)

INTERVAL_S = 10.0
SHOWN_DAYS = 7
KEEP_DAYS = 800

# Every process updates rows in the same order, so that no two deadlock.
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

# The day of PostgreSQL's clock in UTC, for writing and reading alike: processes may disagree on midnight.
DAYS = """
SELECT day, lane, currency, calls, calls_told, input_tokens, output_tokens, cost, replies
FROM ops_laneday WHERE day > (statement_timestamp() AT TIME ZONE 'UTC')::date - %s::int
ORDER BY day DESC, lane, currency
"""
DELETE_OLD = f"""
DELETE FROM ops_laneday WHERE day < (statement_timestamp() AT TIME ZONE 'UTC')::date - {KEEP_DAYS}
"""


@dataclass(kw_only=True, slots=True)
class _Totals:
    """The sums of one lane that are not written yet."""

    calls: int = 0
    calls_told: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = field(default_factory=Decimal)
    replies: int = 0
    replies_unmarked: int = 0

    def add(self, other: "_Totals") -> None:
        for name in _Totals.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class UsageBuffer:
    """Sums the usage of calls and writes it every few seconds. Keeps the sums while the database is away.

    A killed process loses up to INTERVAL_S of usage: the figures are for planning, not for billing.
    """

    def __init__(
        self, pool: AsyncConnectionPool[Any], routing: Routing, *, every_s: float = INTERVAL_S
    ) -> None:
        self._pool = pool
        self._lanes = routing.lanes
        self._head = routing.lanes[routing.presets[NORMAL].chain[0]]
        self._every_s = every_s
        self._totals: dict[str, _Totals] = {}

    def add_turn(self, end: TurnEnd) -> None:
        for attempt in end.attempts:
            if attempt.lane not in self._lanes:
                continue
            # The lane was full and not called, which costs nothing.
            if attempt.failure is not None and not RULES[attempt.failure].is_call:
                continue
            lane_totals = self._totals.setdefault(attempt.lane, _Totals())
            lane_totals.calls += 1
            if attempt.usage is not None:
                lane_totals.calls_told += 1
                lane_totals.input_tokens += attempt.usage.input_tokens
                lane_totals.output_tokens += attempt.usage.output_tokens
                if prices := self._lanes[attempt.lane].prices:
                    lane_totals.cost += prices.cost(
                        input_tokens=attempt.usage.input_tokens, output_tokens=attempt.usage.output_tokens
                    )
            if attempt.failure is None and end.state is TurnState.COMPLETE:
                lane_totals.replies += 1
                lane_totals.replies_unmarked += not end.marked

    async def run(self) -> None:
        """Write every few seconds, until cancelled; then write what is left."""
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
        """Write the sums. Raises psycopg.Error or TimeoutError, and keeps them then."""
        if not self._totals:
            return
        # Taken before the write: turns that end during it are summed for the next one.
        totals, self._totals = self._totals, {}
        try:
            async with asyncio.timeout(5), self._pool.connection() as connection, connection.transaction():
                for name in sorted(totals):
                    await connection.execute(ADD, self._params(self._lanes[name], totals[name]))
        except BaseException:
            # After a commit of unknown outcome these may be counted twice. Figures for planning bear that.
            for name, lane_totals in totals.items():
                self._totals.setdefault(name, _Totals()).add(lane_totals)
            raise

    def _params(self, lane: Lane, totals: _Totals) -> Mapping[str, Any]:
        head, prices = self._head, lane.prices
        is_cheaper = bool(prices and head.prices and prices.is_below(head.prices))
        return {
            "lane": lane.name,
            "currency": prices.currency if prices else "",
            "cheaper_than": head.name if is_cheaper else "",
            **{name: getattr(totals, name) for name in _Totals.__slots__},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneUsage:
    """The usage of one lane on one day (UTC)."""

    day: date
    lane: str
    currency: str
    """Of `cost`; empty while the lane has no price."""
    calls: int
    calls_told: int
    """Calls whose provider reported tokens. The figures below are of these alone."""
    input_tokens: int
    output_tokens: int
    cost: Decimal
    replies: int

    @property
    def tokens_text(self) -> str:
        if not self.calls_told:
            return gettext("not reported")
        counts = {"read": f"{self.input_tokens:,}", "written": f"{self.output_tokens:,}"}
        unreported = self.calls - self.calls_told
        if not unreported:
            return gettext("{read} in, {written} out").format(**counts)
        return ngettext(
            "{read} in, {written} out (not reported for {count} call)",
            "{read} in, {written} out (not reported for {count} calls)",
            unreported,
        ).format(**counts, count=f"{unreported:,}")

    @property
    def cost_text(self) -> str:
        if not self.currency:
            return gettext("no price is set")
        return f"{self.cost:,.2f} {self.currency}" if self.calls_told else gettext("not reported")

    def build_document(self) -> dict[str, Any]:
        """For /ops/status.json. An unknown figure is null."""
        is_reported = self.calls_told > 0
        return {
            "day": self.day.isoformat(),
            "lane": self.lane,
            "calls": self.calls,
            "calls_told": self.calls_told,
            "replies": self.replies,
            "input_tokens": self.input_tokens if is_reported else None,
            "output_tokens": self.output_tokens if is_reported else None,
            "cost": float(self.cost) if is_reported and self.currency else None,
            "currency": self.currency or None,
        }


def list_usage(days: int = SHOWN_DAYS) -> tuple[LaneUsage, ...]:
    """The usage of the last days, today first, by lane. Uses Django's connection."""
    return tuple(_read_usage(days))


def _read_usage(days: int) -> Iterator[LaneUsage]:
    with connection.cursor() as cursor:
        cursor.execute(DAYS, [days])
        for row in cursor.fetchall():
            yield LaneUsage(**dict(zip(LaneUsage.__slots__, row, strict=True)))
