"""The whole story of a turn, stored with its end: who served it, every attempt, and which questions it answered."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncCursor

from companion.states import Settlement, TurnState
from companion.turn_close import ClosedTurn, Ending, Row
from routing.chain import SkippedLane
from routing.contracts import AttemptReport
from routing.errors import FailureClass

SERVED_BY = """
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

# Asked again they would fail again, and everything the person writes meanwhile with them. Nor are they offered back.
LET_GO = f"""
UPDATE companion_turn
SET held_until = clock_timestamp(), settled = '{Settlement.UNANSWERABLE}', settled_at = clock_timestamp()
WHERE id = ANY(%(held)s) AND state = 'paused' AND answered_by_id IS NULL AND held_until > clock_timestamp()
  AND settled = ''
"""

# They are asked along no more; the page offers them back.
UNASKED = """
UPDATE companion_turn SET held_until = clock_timestamp()
WHERE id = ANY(%(held)s) AND state = 'paused' AND answered_by_id IS NULL AND held_until > clock_timestamp()
"""

TRIED_ALONG = """
UPDATE companion_turn t SET tried_along = t.tried_along + 1, tried_along_failure = c.failure
FROM unnest(%(held)s::bigint[], %(failures)s::text[]) AS c(id, failure)
WHERE t.id = c.id AND t.state = 'paused' AND t.answered_by_id IS NULL AND t.settled = ''
"""

# A turn may have been erased while its call ran.
ATTEMPT = """
INSERT INTO companion_attempt (turn_id, number, lane, model, failure, status, code, waited_s, started_s,
                               took_s, bytes_received, words, input_tokens, output_tokens)
SELECT a.* FROM (
    VALUES (%s::bigint, %s::smallint, %s, %s, %s, %s::smallint, %s, %s::float8, %s::float8, %s::float8, %s::bigint,
            %s::int, %s::int, %s::int)
) AS a(turn_id) WHERE EXISTS (SELECT 1 FROM companion_turn t WHERE t.id = a.turn_id)
ON CONFLICT (turn_id, number) DO NOTHING
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """Everything a turn's task learned: how it ends, who served it, every attempt, what it answered."""

    ending: Ending
    lane: str = ""
    model: str = ""
    preset: str = ""
    routing_version: int = 0
    routing_hash: str = ""
    marked: bool = False
    """The lane that answered, or the preset, says that replies are reduced."""
    passed_over: tuple[SkippedLane, ...] = ()
    attempts: tuple[AttemptReport, ...] = ()
    answers: tuple[int, ...] = ()
    """Held turns whose questions were asked along: answered if the reply is complete, let go if it was refused."""
    tried_along: tuple[tuple[int, FailureClass], ...] = ()
    """Held turns whose questions were asked along in a call that failed before a word, with its class."""
    unanswerable: tuple[int, ...] = ()
    """Held turns that are let go, because the reply came once their questions were left out."""
    unasked: tuple[int, ...] = ()
    """Held turns that are asked along no more, for the same reason, and offered back."""


async def record(cursor: AsyncCursor[Row], stories: Sequence[Story], ended: Mapping[int, ClosedTurn]) -> None:
    """Store stories. `ended` are the turns that this transaction has ended; the others had ended before."""
    await _who_served(cursor, [story for story in stories if story.preset])
    here = [story for story in stories if story.ending.turn in ended]
    await _what_was_answered(cursor, [story for story in here if story.ending.state is TurnState.COMPLETE])
    await _what_was_given_up(cursor, here)
    attempts = [
        _attempt_row(story.ending.turn, number, report)
        for story in stories
        for number, report in enumerate(story.attempts, start=1)
    ]
    if attempts:
        await cursor.executemany(ATTEMPT, attempts)


async def _who_served(cursor: AsyncCursor[Row], stories: list[Story]) -> None:
    if stories:
        facts = {
            "ids": [story.ending.turn for story in stories],
            "lanes": [story.lane for story in stories],
            "models": [story.model for story in stories],
            "presets": [story.preset for story in stories],
            "versions": [story.routing_version for story in stories],
            "hashes": [story.routing_hash for story in stories],
            "marked": [story.marked for story in stories],
            "skipped": [json.dumps([_skipped(one) for one in story.passed_over]) for story in stories],
        }
        await cursor.execute(SERVED_BY, facts)


async def _what_was_answered(cursor: AsyncCursor[Row], stories: list[Story]) -> None:
    answered = [(held, story.ending.turn) for story in stories for held in story.answers]
    if answered:
        held, answers = zip(*answered, strict=True)
        await cursor.execute(ANSWERED, {"held": list(held), "answers": list(answers)})


async def _what_was_given_up(cursor: AsyncCursor[Row], stories: list[Story]) -> None:
    tried = [one for story in stories for one in story.tried_along]
    if tried:
        held, failures = zip(*tried, strict=True)
        facts = {"held": list(held), "failures": [failure.value for failure in failures]}
        await cursor.execute(TRIED_ALONG, facts)
    refused = [story for story in stories if story.ending.reason is FailureClass.REFUSED]
    let_go = [turn for story in refused for turn in story.answers]
    if let_go := [*let_go, *(turn for story in stories for turn in story.unanswerable)]:
        await cursor.execute(LET_GO, {"held": let_go})
    if unasked := [turn for story in stories for turn in story.unasked]:
        await cursor.execute(UNASKED, {"held": unasked})


def _skipped(one: SkippedLane) -> dict[str, Any]:
    return {"lane": one.lane, "why": one.why, "until": one.until.isoformat(), "tried": one.tried}


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
