"""Inserts rows that look like conversations, for measuring. Refuses a database with participants of its own."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
from psycopg import sql

from ops.backups.connecting.session import Session
from ops.backups.run.errors import CouldNotRun

SITE = "seeded-rows"
BATCH_ROWS = 100_000
PARTICIPANTS = 500
HAS_PARTICIPANTS = """
SELECT EXISTS (SELECT FROM companion_participant p JOIN companion_site s ON s.id = p.site_id WHERE s.slug <> %s)
"""
PREPARE = """
INSERT INTO companion_site (slug, name, is_open) VALUES ({site}, 'Seeded rows', false)
    ON CONFLICT (slug) DO UPDATE SET name = excluded.name;
INSERT INTO companion_participant (site_id, name, is_active, card_handle, card_issue)
    SELECT s.id, 'Seeded ' || g, false, 's' || to_char(g, 'FM0000000'), 1
    FROM companion_site s, generate_series(1, {people}) g WHERE s.slug = {site} ON CONFLICT DO NOTHING;
INSERT INTO companion_conversation (participant_id)
    SELECT p.id FROM companion_participant p JOIN companion_site s ON s.id = p.site_id
    WHERE s.slug = {site} ON CONFLICT DO NOTHING;
"""
TURNS = """
INSERT INTO companion_turn (conversation_id, key, question, state, owner, reply, persona_version, lane, model,
                            created_at, wait_until, admitted_at, first_word_at, closed_at, seq)
SELECT c.ids[1 + g %% cardinality(c.ids)], gen_random_uuid(), repeat(md5(g::text || %(salt)s), 1 + (g %% 3)::int),
       'complete', %(owner)s, repeat(md5(g::text), 2 + (g %% 5)::int), '0123456789abcdef', 'primary', 'a model',
       t.at, t.at, t.at, t.at + interval '1 second', t.at + interval '9 seconds', 12
FROM generate_series(1, %(many)s) g,
     LATERAL (SELECT clock_timestamp() - g * interval '1 second' AS at) t,
     (SELECT array_agg(v.id) AS ids FROM companion_conversation v
      JOIN companion_participant p ON p.id = v.participant_id JOIN companion_site s ON s.id = p.site_id
      WHERE s.slug = %(site)s) c
"""
ATTEMPTS = """
INSERT INTO companion_attempt (turn_id, number, lane, model, failure, status, code, waited_s, started_s, took_s,
                               bytes_received, words)
SELECT t.id, 1, 'primary', 'a model', '', 200, '', 0, random(), 8 * random(), 4000 + (t.id %% 900), 60
FROM companion_turn t WHERE t.owner = %(owner)s ORDER BY t.id LIMIT %(many)s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedProgress:
    """Rows inserted so far."""

    rows: int


class SeedRefused(CouldNotRun):
    """The database has participants of its own, or is not one of this service."""


def seed(session: Session, rows: int, chance: random.Random) -> Iterator[SeedProgress]:
    """Insert `rows` rows, half turns and half attempts; yield the progress. Raises SeedRefused."""
    try:
        in_use = (session.execute(HAS_PARTICIPANTS, [SITE]).fetchone() or (True,))[0]
    except psycopg.errors.UndefinedTable:
        raise SeedRefused(
            "This database has none of the service's tables.", mend="Run manage.py migrate first."
        ) from None
    if in_use:
        raise SeedRefused(
            "This database has participants. Rows are seeded only into an empty database.",
            mend="Set DIRECT_DATABASE_URL to a migrated database of its own. Nothing was written.",
        )
    prepare = sql.SQL(PREPARE).format(site=sql.Literal(SITE), people=sql.Literal(PARTICIPANTS))
    session.execute(prepare)
    done = 0
    while done < rows:
        turns = min(BATCH_ROWS, (rows - done + 1) // 2)
        attempts = min(turns, rows - done - turns)
        owner = uuid.UUID(int=chance.getrandbits(128), version=4)
        named = {"many": turns, "owner": owner, "salt": str(owner), "site": SITE}
        session.execute(TURNS, named)
        session.execute(ATTEMPTS, {"owner": owner, "many": attempts})
        done += turns + attempts
        yield SeedProgress(rows=done)
    session.execute("ANALYZE")
