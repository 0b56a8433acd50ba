"""Reads what was stored, and what was left, once everything has ended."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ops.ordeal.arena.cast import Cast
from ops.ordeal.arena.database import RunDatabase
from ops.ordeal.arena.recorder import Recorder

TURNS = """
SELECT t.id, t.conversation_id AS conversation, t.key, t.question, t.state, t.reason, t.openings, t.reply, t.seq,
       t.line, t.owner, t.fence, t.lane, t.answered_by_id AS answered_by, t.settled, t.held_until, t.tried_along,
       t.created_at, t.wait_until, t.admitted_at, t.first_word_at, t.closed_at,
       coalesce((SELECT json_agg(json_build_object('number', a.number, 'lane', a.lane, 'failure', a.failure,
                                                   'words', a.words, 'started_s', a.started_s, 'took_s', a.took_s)
                                 ORDER BY a.number)
                 FROM companion_attempt a WHERE a.turn_id = t.id), '[]'::json) AS attempts
FROM companion_turn t WHERE t.conversation_id = ANY(%(conversations)s) ORDER BY t.id
"""
QUERIES: Mapping[str, str] = {
    "turns": TURNS,
    "chunks": """SELECT c.turn_id AS turn, c.seq, c.text FROM companion_replychunk c
                 JOIN companion_turn t ON t.id = c.turn_id
                 WHERE t.conversation_id = ANY(%(conversations)s) ORDER BY c.turn_id, c.seq""",
    "entries": """SELECT id, conversation_id AS conversation, kind, key, person, name, text, after_turn, at
                  FROM companion_transcriptentry WHERE conversation_id = ANY(%(conversations)s) ORDER BY id""",
    "controls": """SELECT conversation_id AS conversation, person, person_name, quiet_since, take_overs
                   FROM companion_control WHERE conversation_id = ANY(%(conversations)s)""",
    "flags": """SELECT id, tier, kind, source, conversation_id AS conversation, participant, turn, count, state, owner,
                       owner_name, opened_at, accepted_at, closed_at, closed_by_name, outcome
                FROM companion_flag WHERE site_id = %(site)s ORDER BY id""",
    "flag_steps": """SELECT s.id, s.flag_id AS flag, s.what, s.who, s.at FROM companion_flagstep s
                     JOIN companion_flag f ON f.id = s.flag_id WHERE f.site_id = %(site)s ORDER BY s.id""",
    "pauses": "SELECT id, scope, about, by_name, at, ended_at FROM companion_staffpause ORDER BY id",
    "visits": """SELECT id, participant_id AS participant, opened_at AS started_at, ended_at, end_reason
                 FROM companion_visit WHERE participant_id = ANY(%(participants)s) ORDER BY opened_at""",
    "audit": "SELECT id, at, who, what, about, note FROM ops_auditentry ORDER BY id",
    "processes": "SELECT id, pid, beat_at, draining FROM companion_process ORDER BY started_at",
}
# The row of a process goes when it leaves. One that was killed keeps its row, and its probe until the lease is over.
LEFT: Mapping[str, str] = {
    "slot": "SELECT id::text AS name FROM companion_turn WHERE state IN ('waiting', 'speaking')",
    "probe": """SELECT lane AS name FROM companion_breaker
                WHERE probe_owner NOT IN (SELECT id FROM companion_process) AND probe_until > clock_timestamp()""",
    "lock": """SELECT objid::text AS name FROM pg_locks
               WHERE locktype = 'advisory' AND pid <> pg_backend_pid()""",
}
UNFINISHED = ("*.partial*", "*.tmp", "*.new", "*.token")
"""Names of files that are there only while something is under way."""


def count_live_turns(database: RunDatabase, cast: Cast) -> int:
    """Turns of the run that wait or speak."""
    [row] = database.rows(
        """SELECT count(*) AS turns FROM companion_turn
           WHERE conversation_id = ANY(%s) AND state IN ('waiting', 'speaking')""",
        [[person.conversation for person in cast.people]],
    )
    return int(row["turns"])


def record_stored(database: RunDatabase, cast: Cast, recorder: Recorder) -> None:
    """Write every table to the history."""
    parameters = {
        "conversations": [person.conversation for person in cast.people],
        "participants": [person.participant for person in cast.people],
        "site": cast.site,
    }
    for table, query in QUERIES.items():
        recorder.write_rows(table, database.rows(query, parameters))


def record_left(database: RunDatabase, folder: Path, recorder: Recorder) -> None:
    """Write what was left behind. Call it when no program runs any more."""
    left = [
        {"kind": kind, "name": row["name"]} for kind, query in LEFT.items() for row in database.rows(query)
    ]
    recorder.write_rows(
        "left", [*left, *({"kind": "file", "name": name} for name in _unfinished_files(folder))]
    )


def _unfinished_files(folder: Path) -> Iterator[str]:
    for inner in [*sorted(folder.glob("web-*")), folder / "worker", folder / "tokens"]:
        for pattern in UNFINISHED:
            yield from (str(path.relative_to(folder)) for path in inner.rglob(pattern))


def list_facts(cast: Cast) -> dict[str, Any]:
    """Who is in the run, as the history's first event has it."""
    people = {
        person.name: {
            "conversation": person.conversation,
            "participant": person.participant,
            "site": cast.site,
            "code": person.code,
        }
        for person in cast.people
    }
    return {"people": people, "staff": {member.username: member.user for member in cast.staff}}
