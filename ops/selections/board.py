"""How things stand on the lanes: what is selected, what each process serves, and what is known of each lane."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from companion.models import Breaker as BreakerRow
from ops.minutes import LaneHour, last_hour
from ops.selections import selecting
from routing import breaker, selection
from routing.breaker import STRIKES, Breaker, State
from routing.lanes import NORMAL, Routing
from routing.selection import Concern, Selection

LOOK_BACK = 20
ALIVE_WITHIN_S = 15

# Looks back no further than a day: after that a lane counts as one that has not answered lately, and only its drills
# are known.
LANES = """
SELECT l.lane,
       greatest((
           SELECT t.closed_at FROM companion_turn t
           WHERE t.lane = l.lane AND t.state = 'complete' AND t.closed_at > statement_timestamp() - interval '1 day'
           ORDER BY t.closed_at DESC LIMIT 1), whole.at) AS last_answered_at,
       drill.ok, drill.at, drill.failure
FROM unnest(%s::text[]) WITH ORDINALITY AS l(lane, place)
LEFT JOIN LATERAL (SELECT at FROM ops_laneprobe WHERE lane = l.lane AND ok ORDER BY at DESC LIMIT 1) whole ON true
LEFT JOIN LATERAL (
    SELECT ok, at, failure FROM ops_laneprobe WHERE lane = l.lane AND how = 'drill' ORDER BY at DESC LIMIT 1
) drill ON true
ORDER BY l.place
"""
SERVING = """
SELECT id, routing_version, preset, routing_hash, persona_version, documents_refused,
       extract(epoch FROM clock_timestamp() - beat_at)::float8
FROM companion_process WHERE beat_at > clock_timestamp() - make_interval(secs => %s) ORDER BY started_at
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What is known of one lane. Times to the first word are of the last hour, in milliseconds."""

    lane: str
    model: str
    failure_domain: str
    region: str
    place: int | None
    """From 1, in the chain that is in force; None: not in it."""
    state: str
    """`closed`, `open`, `half_open` or `resting`."""
    until: datetime | None
    failures: int
    """That count towards opening its breaker, at this moment."""
    last_failure: str
    last_answered_at: datetime | None
    """None: no person in the last day, and no question of our own ever."""
    answers: int
    first_word_p50_ms: int | None
    first_word_p95_ms: int | None
    drill_ok: bool | None
    """None: it has never been drilled."""
    drill_at: datetime | None
    drill_failure: str

    @property
    def is_trusted(self) -> bool:
        """Unless it failed its last drill."""
        return self.drill_ok is not False


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """What a web process serves, as its last heartbeat said."""

    process: str
    version: int
    preset: str
    """Empty for a process of an older release."""
    routing_hash: str
    persona_version: str
    documents_refused: int
    beat_age_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """Everything a person needs to see before moving traffic."""

    now: datetime
    newest: Selection
    """The last row, as somebody selected it."""
    in_force: Selection
    """The one that processes of this release serve: the last they can use."""
    preset: str
    chain: tuple[str, ...]
    lanes: tuple[Standing, ...]
    serving: tuple[Serving, ...]
    routing_hash: str
    """Of the routing file that this process has read; empty without a file."""
    is_scripted: bool
    """Whether the rehearsal provider answers, because there is no routing file."""
    weakness: str
    """Why the normal chain would go down as a whole; empty if it would not."""

    @property
    def behind(self) -> tuple[Serving, ...]:
        """Processes that do not serve what is in force."""
        return tuple(one for one in self.serving if one.version != self.in_force.version)

    @property
    def unrecorded(self) -> tuple[Serving, ...]:
        """Processes that serve a version above every row, from their copies on disk: the database was restored."""
        return tuple(one for one in self.serving if one.version > self.newest.version)

    @property
    def may_revert(self) -> bool:
        """Whether going back to normal would change anything."""
        return self.newest.preset != NORMAL or bool(self.unrecorded)

    @property
    def is_pinned(self) -> bool:
        """Whether something is in force that ends by itself."""
        return self.preset == self.in_force.preset and self.in_force.expires_at is not None


def board(routing: Routing) -> Board:
    """How things stand now, by the database's clock. Uses Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
        cursor.execute(LANES, [list(routing.lanes)])
        facts = cursor.fetchall()
        cursor.execute(SERVING, [ALIVE_WITHIN_S])
        serving = cursor.fetchall()
    hour = last_hour().lanes
    rows = selecting.history(LOOK_BACK)
    in_force = selecting.usable(rows, routing)
    preset = selection.effective_preset(in_force, now)
    chain = routing.presets[preset].chain
    breakers = {row.lane: _breaker(row) for row in BreakerRow.objects.filter(lane__in=list(routing.lanes))}
    return Board(
        now=now,
        newest=rows[0] if rows else in_force,
        in_force=in_force,
        preset=preset,
        chain=chain,
        lanes=tuple(
            _standing(
                row,
                routing,
                chain,
                known=breakers.get(row[0], Breaker()),
                hour=hour.get(row[0], LaneHour()),
                now=now,
            )
            for row in facts
        ),
        serving=tuple(
            Serving(
                process=str(process),
                version=version,
                preset=served,
                routing_hash=routing_hash,
                persona_version=persona_version,
                documents_refused=documents_refused,
                beat_age_s=round(age_s, 1),
            )
            for process, version, served, routing_hash, persona_version, documents_refused, age_s in serving
        ),
        routing_hash=routing.file_hash,
        is_scripted=routing.is_rehearsed,
        weakness=routing.weakness(NORMAL),
    )


def concerns_of(routing: Routing) -> Callable[[str], Sequence[Concern]]:
    """What speaks against a preset, as things stand when it is asked."""

    def concerns(preset: str) -> Sequence[Concern]:
        return concerns_on(board(routing), routing, preset)

    return concerns


def concerns_on(seen: Board, routing: Routing, preset: str) -> Sequence[Concern]:
    """The same, as things stood when the board was made."""
    return selection.find_concerns(
        routing,
        preset,
        last_answered={lane.lane: lane.last_answered_at for lane in seen.lanes},
        now=seen.now,
        failed_drill=[lane.lane for lane in seen.lanes if not lane.is_trusted],
    )


def for_status(seen: Board) -> Mapping[str, Any]:
    """The `routing` part of /ops/status.json: what the table says, and what each live web process serves."""
    standing = {lane.lane: lane for lane in seen.lanes}
    in_force, expires_at = seen.in_force, seen.in_force.expires_at
    return {
        "version": in_force.version,
        "preset": seen.preset,
        "by": in_force.by,
        "reason": in_force.reason,
        "expires_at": expires_at.isoformat() if expires_at else None,
        "chain": [
            {
                "lane": lane,
                "state": standing[lane].state,
                "last_answered_at": _iso(standing[lane].last_answered_at),
            }
            for lane in seen.chain
        ],
        "behind": [one.process for one in seen.behind],
        "scripted": seen.is_scripted,
        "routing_hash": seen.routing_hash,
        "normal_weakness": seen.weakness,
        "unrecorded": [one.process for one in seen.unrecorded],
        "serving": [asdict(one) for one in seen.serving],
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _breaker(row: BreakerRow) -> Breaker:
    facts = {name: getattr(row, name) for name in Breaker.__slots__}
    return Breaker(**facts | {"state": State(row.state), "strikes": tuple(row.strikes)})


def _standing(
    row: Sequence[Any],
    routing: Routing,
    chain: Sequence[str],
    *,
    known: Breaker,
    hour: LaneHour,
    now: datetime,
) -> Standing:
    name, last_answered_at, drill_ok, drill_at, drill_failure = row
    lane, skip = routing.lanes[name], breaker.find_skip(known, now)
    since = now - timedelta(seconds=breaker.TUNING.window_s)
    counted = sum(strike > since for strike in known.strikes)
    return Standing(
        lane=name,
        model=lane.model,
        failure_domain=lane.failure_domain,
        region=lane.region,
        place=chain.index(name) + 1 if name in chain else None,
        state=breaker.describe_state(known, now),
        until=skip.until if skip else None,
        failures=-(-counted // STRIKES["counts"]),
        last_failure=known.last_failure,
        last_answered_at=last_answered_at,
        answers=hour.answers,
        first_word_p50_ms=hour.p50_ms,
        first_word_p95_ms=hour.p95_ms,
        drill_ok=drill_ok,
        drill_at=drill_at,
        drill_failure=drill_failure or "",
    )
