"""The state of routing: what is selected, what each process serves, and what is known of each lane."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from companion.models import BreakerState
from ops.minutes import LaneHour, get_last_hour
from ops.selections import rows as selection_rows
from routing import breaker, selection
from routing.breaker import STRIKES, Breaker, State
from routing.lanes import NORMAL, Routing
from routing.selection import Concern, Selection

HISTORY_ROWS = 20
ALIVE_WITHIN_S = 15

# Turns of the last day only: a lane without an answer since then counts as not answering lately, apart from its drills.
# The pairs leave the planner the index `turn_answered_on_lane` alone. Of a lane with few answers it could otherwise
# read every turn of the day, from the newest, until it came to one.
LANES = """
SELECT l.lane,
       greatest((
           SELECT t.closed_at FROM companion_turn t
           WHERE t.state = 'complete' AND (t.lane, t.closed_at) > (l.lane, statement_timestamp() - interval '1 day')
             AND (t.lane, t.closed_at) <= (l.lane, 'infinity'::timestamptz)
           ORDER BY t.lane DESC, t.closed_at DESC LIMIT 1), whole.at) AS last_answered_at,
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
class LaneStatus:
    """The state of one lane. Times to the first word are of the last hour, in milliseconds."""

    lane: str
    model: str
    failure_domain: str
    region: str
    place: int | None
    """Place in the chain in force, from 1; None: not in it."""
    state: str
    """`closed`, `open`, `half_open` or `resting`."""
    until: datetime | None
    failures: int
    """Failures that count towards opening its breaker now."""
    last_failure: str
    last_answered_at: datetime | None
    """None: no participant's turn in the last day, and never a check."""
    answers: int
    first_word_p50_ms: int | None
    first_word_p95_ms: int | None
    drill_ok: bool | None
    """None: it has never been drilled."""
    drill_at: datetime | None
    drill_failure: str

    @property
    def is_trusted(self) -> bool:
        """False if it failed its last drill."""
        return self.drill_ok is not False


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingProcess:
    """What a web process serves, from its last heartbeat."""

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
    """What an operator needs to see before moving traffic."""

    now: datetime
    newest: Selection
    """The last row."""
    in_force: Selection
    """The last row that processes of this release can use, and so serve."""
    preset: str
    chain: tuple[str, ...]
    lanes: tuple[LaneStatus, ...]
    serving: tuple[ServingProcess, ...]
    routing_hash: str
    """Of the routing file that this process has read; empty without a file."""
    is_scripted: bool
    """Whether the rehearsal provider answers because no routing file is set."""
    weakness: str
    """Why all of the normal chain can fail at once; empty if it cannot."""

    @property
    def behind(self) -> tuple[ServingProcess, ...]:
        """Processes that do not serve what is in force."""
        return tuple(serving for serving in self.serving if serving.version != self.in_force.version)

    @property
    def unrecorded(self) -> tuple[ServingProcess, ...]:
        """Processes that serve a version above every row, from their copy on disk: the database was restored."""
        return tuple(serving for serving in self.serving if serving.version > self.newest.version)

    @property
    def may_revert(self) -> bool:
        """Whether reverting to normal would change anything."""
        return self.newest.preset != NORMAL or bool(self.unrecorded)

    @property
    def is_pinned(self) -> bool:
        """Whether the selection in force ends by itself."""
        return self.preset == self.in_force.preset and self.in_force.expires_at is not None


def read_board(routing: Routing) -> Board:
    """Read the state of routing, on the database's clock. Uses Django's connection."""
    with connection.cursor() as cursor:
        # The database's clock, as for expiry: a web process's may differ.
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
        cursor.execute(LANES, [list(routing.lanes)])
        facts = cursor.fetchall()
        cursor.execute(SERVING, [ALIVE_WITHIN_S])
        serving = cursor.fetchall()
    # Kept figures: reading the turns of an hour for each page would grow with the load.
    hour = get_last_hour().lanes
    rows = selection_rows.read_history(HISTORY_ROWS)
    in_force = selection_rows.newest_usable(rows, routing)
    preset = selection.effective_preset(in_force, now)
    chain = routing.presets[preset].chain
    breakers = {row.lane: _breaker(row) for row in BreakerState.objects.filter(lane__in=list(routing.lanes))}
    return Board(
        now=now,
        newest=rows[0] if rows else in_force,
        in_force=in_force,
        preset=preset,
        chain=chain,
        lanes=tuple(
            _lane_status(
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
            ServingProcess(
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


def build_concerns(routing: Routing) -> Callable[[str], Sequence[Concern]]:
    """Returns a function that lists the concerns about a preset, from the state at the time of its call."""

    def concerns(preset: str) -> Sequence[Concern]:
        return list_concerns(read_board(routing), routing, preset)

    return concerns


def list_concerns(board: Board, routing: Routing, preset: str) -> Sequence[Concern]:
    """The concerns about a preset, from the state that a board shows."""
    return selection.find_concerns(
        routing,
        preset,
        last_answered={lane.lane: lane.last_answered_at for lane in board.lanes},
        now=board.now,
        failed_drill=[lane.lane for lane in board.lanes if not lane.is_trusted],
    )


def board_summary(board: Board) -> Mapping[str, Any]:
    """The `routing` part of /ops/status.json: the selection in force, and what each live web process serves."""
    lanes = {lane.lane: lane for lane in board.lanes}
    in_force, expires_at = board.in_force, board.in_force.expires_at
    return {
        "version": in_force.version,
        "preset": board.preset,
        "by": in_force.by,
        "reason": in_force.reason,
        "expires_at": expires_at.isoformat() if expires_at else None,
        "chain": [
            {
                "lane": lane,
                "state": lanes[lane].state,
                "last_answered_at": _iso(lanes[lane].last_answered_at),
            }
            for lane in board.chain
        ],
        "behind": [serving.process for serving in board.behind],
        "scripted": board.is_scripted,
        "routing_hash": board.routing_hash,
        "normal_weakness": board.weakness,
        "unrecorded": [serving.process for serving in board.unrecorded],
        "serving": [asdict(serving) for serving in board.serving],
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _breaker(row: BreakerState) -> Breaker:
    facts = {name: getattr(row, name) for name in Breaker.__slots__}
    return Breaker(**facts | {"state": State(row.state), "strikes": tuple(row.strikes)})


def _lane_status(
    row: Sequence[Any],
    routing: Routing,
    chain: Sequence[str],
    *,
    known: Breaker,
    hour: LaneHour,
    now: datetime,
) -> LaneStatus:
    name, last_answered_at, drill_ok, drill_at, drill_failure = row
    lane, skip = routing.lanes[name], breaker.find_skip(known, now)
    since = now - timedelta(seconds=breaker.TUNING.window_s)
    counted = sum(strike > since for strike in known.strikes)
    return LaneStatus(
        lane=name,
        model=lane.model,
        failure_domain=lane.failure_domain,
        region=lane.region,
        place=chain.index(name) + 1 if name in chain else None,
        state=breaker.describe_state(known, now),
        until=skip.until if skip else None,
        # Strikes in whole failures, rounded up: a soft failure is half of one.
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
