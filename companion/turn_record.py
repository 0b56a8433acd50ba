"""The statements that store the record of turns with their ends: lane, attempts, and what became of held questions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import AsyncCursor

from companion.rows import Row
from companion.states import Settlement, TurnState
from companion.turn_close import ClosedTurn
from companion.turn_conditions import is_held, is_unanswered
from companion.turn_end import TurnEnd
from routing.chain import SkippedLane
from routing.contracts import AttemptReport
from routing.errors import FailureClass

STORE_LANES = """
UPDATE companion_turn t
SET lane = coalesce(nullif(c.lane, ''), t.lane), model = c.model, preset = c.preset, routing_version = c.version,
    routing_hash = c.hash, marked = c.marked, skipped = c.skipped::jsonb
FROM unnest(%(ids)s::bigint[], %(lanes)s::text[], %(models)s::text[], %(presets)s::text[], %(versions)s::int[],
            %(hashes)s::text[], %(marked)s::bool[], %(skipped)s::text[])
     AS c(id, lane, model, preset, version, hash, marked, skipped)
WHERE t.id = c.id
"""

ANSWERED = """
UPDATE companion_turn t SET answered_by_id = c.answer
FROM unnest(%(held)s::bigint[], %(answers)s::bigint[]) AS c(id, answer)
WHERE t.id = c.id AND t.state = 'paused' AND t.answered_by_id IS NULL
"""

# Asked again, such a question would fail again, and so would every message sent with it. It is not offered back.
SETTLE_UNANSWERABLE = f"""
UPDATE companion_turn t
SET held_until = clock_timestamp(), settled = '{Settlement.UNANSWERABLE}', settled_at = clock_timestamp()
WHERE t.id = ANY(%(held)s) AND {is_held("t")}
"""

# The hold ends at once, so the question is asked along no more and the page offers it back.
END_HOLD = f"""
UPDATE companion_turn t SET held_until = clock_timestamp() WHERE t.id = ANY(%(held)s) AND {is_held("t")}
"""

COUNT_TRIED_ALONG = f"""
UPDATE companion_turn t SET tried_along = t.tried_along + 1, tried_along_failure = c.failure
FROM unnest(%(held)s::bigint[], %(failures)s::text[]) AS c(id, failure)
WHERE t.id = c.id AND {is_unanswered("t")}
"""

# A turn may have been erased while its call ran.
INSERT_ATTEMPT = """
INSERT INTO companion_attempt (turn_id, number, lane, model, failure, status, code, waited_s, started_s,
                               took_s, bytes_received, words, input_tokens, output_tokens)
SELECT a.* FROM (
    VALUES (%s::bigint, %s::smallint, %s, %s, %s, %s::smallint, %s, %s::float8, %s::float8, %s::float8, %s::bigint,
            %s::int, %s::int, %s::int)
) AS a(turn_id) WHERE EXISTS (SELECT 1 FROM companion_turn t WHERE t.id = a.turn_id)
ON CONFLICT (turn_id, number) DO NOTHING
"""


async def record_ends(
    cursor: AsyncCursor[Row], ends: Sequence[TurnEnd], closed: Mapping[int, ClosedTurn]
) -> None:
    """Store what each end says of its calls. `closed` are the turns that this transaction closed, by id.

    What became of held questions is stored for those only: a turn that had ended before answers nothing.
    """
    await _store_lanes(cursor, [end for end in ends if end.preset])
    closed_here = [end for end in ends if end.turn in closed]
    await _store_answers(cursor, [end for end in closed_here if end.state is TurnState.COMPLETE])
    await _settle_held(cursor, closed_here)
    attempts = [
        _attempt_row(end.turn, number, report)
        for end in ends
        for number, report in enumerate(end.attempts, start=1)
    ]
    if attempts:
        await cursor.executemany(INSERT_ATTEMPT, attempts)


async def _store_lanes(cursor: AsyncCursor[Row], ends: list[TurnEnd]) -> None:
    if ends:
        parameters = {
            "ids": [end.turn for end in ends],
            "lanes": [end.lane for end in ends],
            "models": [end.model for end in ends],
            "presets": [end.preset for end in ends],
            "versions": [end.routing_version for end in ends],
            "hashes": [end.routing_hash for end in ends],
            "marked": [end.marked for end in ends],
            "skipped": [json.dumps([format_skipped(skipped) for skipped in end.passed_over]) for end in ends],
        }
        await cursor.execute(STORE_LANES, parameters)


async def _store_answers(cursor: AsyncCursor[Row], ends: list[TurnEnd]) -> None:
    answered = [(held, end.turn) for end in ends for held in end.answers]
    if answered:
        held, answers = zip(*answered, strict=True)
        await cursor.execute(ANSWERED, {"held": list(held), "answers": list(answers)})


async def _settle_held(cursor: AsyncCursor[Row], ends: list[TurnEnd]) -> None:
    tried = [pair for end in ends for pair in end.tried_along]
    if tried:
        held, failures = zip(*tried, strict=True)
        parameters = {"held": list(held), "failures": [failure.value for failure in failures]}
        await cursor.execute(COUNT_TRIED_ALONG, parameters)
    refused = [turn for end in ends if end.reason is FailureClass.REFUSED for turn in end.answers]
    if unanswerable := [*refused, *(turn for end in ends for turn in end.unanswerable)]:
        await cursor.execute(SETTLE_UNANSWERABLE, {"held": unanswerable})
    if unasked := [turn for end in ends for turn in end.unasked]:
        await cursor.execute(END_HOLD, {"held": unasked})


def format_skipped(skipped: SkippedLane) -> dict[str, Any]:
    """The shape in `Turn.skipped`: lane, why, until (ISO 8601), tried."""
    return {
        "lane": skipped.lane,
        "why": skipped.why,
        "until": skipped.until.isoformat(),
        "tried": skipped.tried,
    }


def _attempt_row(turn: int, number: int, report: AttemptReport) -> Row:
    return (
        turn,
        number,
        report.lane,
        report.model,
        report.failure.value if report.failure else "",
        report.status,
        report.code or "",
        report.waited_s,
        report.started_s,
        report.took_s,
        report.bytes_received,
        report.words,
        report.usage.input_tokens if report.usage else None,
        report.usage.output_tokens if report.usage else None,
    )
