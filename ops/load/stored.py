"""Reads the stored turns of one load test, and other people's turns of the same time, which hold slots too."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import connection

# Times in seconds since the epoch, on the database's clock.
TURNS = """
SELECT t.id, t.conversation_id, p.site_id = %(site)s, t.owner::text, t.state, t.reason,
       extract(epoch FROM t.created_at)::float8, extract(epoch FROM t.admitted_at)::float8,
       extract(epoch FROM t.first_word_at)::float8, extract(epoch FROM t.closed_at)::float8
FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
WHERE t.closed_at IS NULL OR t.closed_at >= to_timestamp(%(since)s)
ORDER BY t.id
"""

REPLIES = """
SELECT t.id, t.reply FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
WHERE p.site_id = %s
"""

CEILING = "SELECT value FROM companion_ceiling ORDER BY id DESC LIMIT 1"
NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTurn:
    """One turn as it is stored. `ours` is false for people outside this load test."""

    turn: int
    conversation: int
    ours: bool
    owner: str
    state: str
    reason: str
    created_at: float
    admitted_at: float | None
    first_word_at: float | None
    closed_at: float | None


def database_now() -> float:
    """Seconds since the epoch, on the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(NOW)
        moment: float = cursor.fetchone()[0]
        return moment


def read_turns(*, site: int, since: float) -> list[StoredTurn]:
    """All turns that were live at or after `since`, in order of arrival."""
    with connection.cursor() as cursor:
        cursor.execute(TURNS, {"site": site, "since": since})
        return [
            StoredTurn(
                turn=turn,
                conversation=conversation,
                ours=ours,
                owner=owner,
                state=state,
                reason=reason,
                created_at=created_at,
                admitted_at=admitted_at,
                first_word_at=first_word_at,
                closed_at=closed_at,
            )
            for turn, conversation, ours, owner, state, reason, created_at, admitted_at, first_word_at, closed_at in (
                cursor.fetchall()
            )
        ]


def read_digests(site: int, shown: Mapping[int, int]) -> dict[int, tuple[str, int]]:
    """For each turn of a site: SHA-256 of the reply's first `shown[turn]` characters, and the reply's length."""
    digests = {}
    with connection.cursor() as cursor:
        cursor.execute(REPLIES, [site])
        for turn, reply in cursor:
            prefix = reply[: shown.get(turn, len(reply))]
            digests[turn] = (hashlib.sha256(prefix.encode()).hexdigest(), len(reply))
    return digests


def read_operators_ceiling() -> int | None:
    """The ceiling that operators have set; None: the setting applies."""
    with connection.cursor() as cursor:
        cursor.execute(CEILING)
        row = cursor.fetchone()
        return row[0] if row else None
