"""It says that it is a computer program: before the first reply, after a time of talk, and when a person asks.

The line is an opening of the turn, so it comes before its first words. Each showing is also an entry with the version
of the persona file, for the interval and the record. Both are stored in the transaction that opens the turn, under its
gate, so two openings of one conversation show it once. Showings are counted by site and year without identifiers,
because entries are erased.
"""

from collections.abc import Sequence

from psycopg import AsyncConnection, AsyncCursor

from companion.languages import line_in
from companion.rows import Row
from companion.states import LIVE
from companion.supervision.states import EntryKind
from companion.turn_policy import TurnPolicy

MAX_INTERVAL_S = 10_800
"""It is said at least this often while a person writes, whatever a site has set."""

# A turn that a person or the quiet has taken over opens no reply, so it says nothing. The last showing is found by the
# index `entry_disclosure`.
INSERT_DISCLOSURES = f"""
WITH opened AS (
    SELECT t.id, t.conversation_id AS conversation, t.language, t.persona_version, p.site_id AS site, one.asks,
           row_number() OVER (PARTITION BY t.conversation_id, one.asks ORDER BY t.id) AS place,
           coalesce(last.at, '-infinity')
           <= clock_timestamp() - make_interval(secs => least(s.disclosure_s, {MAX_INTERVAL_S})) AS is_due
    FROM unnest(%(turns)s::bigint[], %(asks)s::bool[]) AS one(turn, asks)
    JOIN companion_turn t ON t.id = one.turn AND t.state IN ({", ".join(f"'{state}'" for state in sorted(LIVE))})
    JOIN companion_conversation c ON c.id = t.conversation_id
    JOIN companion_participant p ON p.id = c.participant_id
    JOIN companion_site s ON s.id = p.site_id
    LEFT JOIN LATERAL (
        SELECT e.at FROM companion_transcriptentry e
        WHERE e.conversation_id = t.conversation_id AND e.kind = '{EntryKind.DISCLOSURE}'
        ORDER BY e.conversation_id DESC, e.id DESC LIMIT 1) last ON true
), shown AS (
    INSERT INTO companion_transcriptentry (conversation_id, kind, text, version, after_turn)
    SELECT o.conversation, '{EntryKind.DISCLOSURE}',
           CASE WHEN o.asks THEN {line_in("asked_line", "o.language")} ELSE {line_in("line", "o.language")} END,
           o.persona_version, o.id
    FROM opened o WHERE (o.asks OR o.is_due) AND o.place = 1 ORDER BY o.id, o.asks
    RETURNING conversation_id, after_turn, text
), counted AS (
    INSERT INTO companion_disclosurecount AS kept (site_id, year, showings)
    SELECT o.site, extract(year FROM clock_timestamp() AT TIME ZONE 'UTC')::int, count(*)
    FROM shown JOIN (SELECT DISTINCT conversation, site FROM opened) o ON o.conversation = shown.conversation_id
    GROUP BY o.site ORDER BY o.site
    ON CONFLICT (site_id, year) DO UPDATE SET showings = kept.showings + excluded.showings
)
UPDATE companion_turn t
SET openings = jsonb_build_array(jsonb_build_object('kind', '{EntryKind.DISCLOSURE}', 'line', shown.text))
FROM shown WHERE t.id = shown.after_turn
"""


async def insert_disclosures(
    connection: AsyncConnection[Row], opened: Sequence[tuple[int, bool]], policy: TurnPolicy
) -> AsyncCursor[Row] | None:
    """Say it where it is due, for turns that this transaction has opened: (turn, whether the message asks for it).

    The caller holds the gate. Nothing waits for the result, which travels with the commit.
    """
    if not opened:
        return None
    return await connection.execute(
        INSERT_DISCLOSURES,
        {
            "turns": [turn for turn, _ in opened],
            "asks": [asks for _, asks in opened],
            "line": policy.by_language("disclosure"),
            "asked_line": policy.by_language("asked_if_person"),
        },
    )
