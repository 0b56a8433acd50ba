"""Fills a measured database, set by set and never row by row. The rows look like those of a programme of years.

Ids rise with time, as in the service. Triggers and foreign keys do not run: they cost most of the time, and the rows
are made to satisfy them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from companion.states import Reason
from ops.growth.plan_log import OURS

SET_ROWS = 250_000
PEOPLE_OF_SITE = 500
"""Participants of each site that is added."""
WAITING_OWNER = UUID(int=7)
"""The process that owns the waiting turns: it is never swept, and drives none of them."""
CEILING = 8
"""The ceiling that the waiting turns were opened under."""
LANE, LANE_TAKES = "first", 500

OnProgress = Callable[[str, int, int], object]
"""Called with what is filled, how much of it is done, and how much it will be."""

# Turns ended one after the other, three seconds apart, years ago to hours ago: the time follows from the number.
TURNS = """
INSERT INTO companion_turn (conversation_id, key, question, state, reason, owner, reply, seq, chunk_lengths, line,
                            held_until, settled, persona_version, preset, lane, model, created_at, wait_until,
                            admitted_at, first_word_at, closed_at)
SELECT people.ids[1 + n %% cardinality(people.ids)], gen_random_uuid(), repeat(md5(n::text), 2), kind.state,
       CASE kind.state WHEN 'paused' THEN 'overloaded' WHEN 'complete' THEN %(whole)s ELSE kind.state END,
       md5('process ' || n / 5000)::uuid,
       repeat(md5((n + 1)::text), 8), 12, array_fill(21, ARRAY[12]), '',
       CASE kind.state WHEN 'paused' THEN time.at + interval '2 hours' END,
       CASE WHEN n %% 200 = 100 THEN 'let_go' ELSE '' END,
       '0123456789abcdef', 'normal', %(lane)s, 'a model', time.at, time.at, time.at, time.at + interval '1 second',
       time.at + interval '9 seconds'
FROM generate_series(%(first)s::bigint, %(last)s) n,
     LATERAL (SELECT now() - interval '3 hours' - (20000000 - n) * interval '3 seconds' AS at) time,
     LATERAL (SELECT CASE n %% 100 WHEN 0 THEN 'paused' WHEN 1 THEN 'refused' WHEN 2 THEN 'stopped'
                     ELSE 'complete' END AS state) kind,
     (SELECT %(conversations)s::bigint[] AS ids) people
"""
ATTEMPTS = """
INSERT INTO companion_attempt (turn_id, number, lane, model, failure, status, code, waited_s, started_s, took_s,
                               bytes_received, words)
SELECT t.id, 1, t.lane, 'a model', '', 200, '', 0, 0.1, 8, 4000, 60
FROM companion_turn t WHERE t.id > %(after)s
"""
ENTRIES = """
INSERT INTO companion_transcriptentry (conversation_id, kind, text, name, after_turn, at, show_at)
SELECT t.conversation_id, 'said', 'Good morning.', 'Sam', t.id, t.closed_at, t.closed_at
FROM companion_turn t WHERE t.id > %(after)s AND t.id %% 20 = 0
"""
LAST_TURN = "SELECT coalesce(max(id), 0) FROM companion_turn"

SITES = """
INSERT INTO companion_site (slug, name, is_open, regions, helpline_voice, helpline_text)
SELECT 'growth-' || n, 'House ' || n, true, '{}', '0808 157 0123', '07700 900123'
FROM generate_series(1, %(sites)s) n ON CONFLICT DO NOTHING
"""
PEOPLE = """
INSERT INTO companion_participant (site_id, name, is_active, card_handle, card_issue)
SELECT coalesce(%(site)s, (SELECT id FROM companion_site WHERE slug = 'growth-' || (1 + (n - 1) / %(of_site)s))),
       (ARRAY['Ada', 'Ben', 'Cleo', 'Dora', 'Eli', 'Fay', 'Gus', 'Hana'])[1 + n %% 8] || ' ' || n, true,
       to_char(n, 'FM00000000'), 1
FROM generate_series(%(first)s::bigint, %(last)s) n
"""
CONVERSATIONS = """
INSERT INTO companion_conversation (participant_id)
SELECT p.id FROM companion_participant p
WHERE p.id > %(after)s AND NOT EXISTS (SELECT 1 FROM companion_conversation c WHERE c.participant_id = p.id)
"""
CONTROLS = """
INSERT INTO companion_control (conversation_id)
SELECT c.id FROM companion_conversation c LEFT JOIN companion_control k ON k.conversation_id = c.id
WHERE k.conversation_id IS NULL
"""
NEEDS = """
INSERT INTO companion_needs (participant_id, review_by)
SELECT p.id, CASE WHEN p.id %% 50 = 0 THEN current_date - 1 ELSE current_date + 90 END
FROM companion_participant p WHERE p.id > %(after)s AND p.id %% 5 = 0 ON CONFLICT DO NOTHING
"""
PAST_VISITS = """
INSERT INTO companion_visit (id, participant_id, opened_at, expires_at, ended_at, end_reason)
SELECT gen_random_uuid(), p.id, now() - interval '9 days', now() - interval '8 days', now() - interval '9 days',
       'finished'
FROM companion_participant p, generate_series(1, 3) WHERE p.id > %(after)s
"""

OWNER = """
INSERT INTO companion_process (id, host, pid, beat_at, draining, sockets)
VALUES (%s, 'growth', 1, clock_timestamp() + interval '1 day', false, 0)
ON CONFLICT DO NOTHING
"""
WAITING = """
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, preset, lane, lane_takes,
                            house_ceiling, wait_until)
SELECT c.id, gen_random_uuid(), '?', 'waiting', %(owner)s, '0123456789abcdef', 'normal', %(lane)s, %(takes)s,
       %(ceiling)s, now() + interval '1 day'
FROM companion_conversation c JOIN companion_participant p ON p.id = c.participant_id
WHERE p.name NOT LIKE 'Person %%'
  AND NOT EXISTS (SELECT 1 FROM companion_turn t
                  WHERE t.conversation_id + 0 = c.id AND t.state IN ('waiting', 'speaking'))
ORDER BY c.id DESC LIMIT %(many)s
"""
WATCHED = """
UPDATE companion_conversation SET watched_at = now() + interval '1 day'
WHERE id IN (SELECT conversation_id FROM companion_turn WHERE state IN ('waiting', 'speaking'))
"""
END_WAITING = """
UPDATE companion_turn SET state = 'stopped', reason = 'stopped', closed_at = now() - interval '2 hours'
WHERE state IN ('waiting', 'speaking')
"""

FLAGS = """
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, opened_at, seen_at, shown_count)
SELECT CASE WHEN n %% 2 = 0 THEN 'red' ELSE 'amber' END, 'kind_' || n / (2 * cardinality(people.ids)), 'message',
       people.ids[1 + n / 2 %% cardinality(people.ids)], people.ids[1 + n / 2 %% cardinality(people.ids)], %(site)s,
       now() - interval '1 hour', now() - interval '1 hour', 1
FROM generate_series(%(first)s::bigint, %(last)s) n, (SELECT %(conversations)s::bigint[] AS ids) people
"""
CLOSED_FLAGS = """
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, state, outcome, owner,
                            owner_name, opened_at, seen_at, accepted_at, closed_at)
SELECT 'amber', 'lonely', 'message', t.conversation_id, t.conversation_id, %(site)s, 'closed', 'no_concern', 1, 'Sam',
       t.closed_at, t.closed_at, t.closed_at, t.closed_at
FROM companion_turn t WHERE t.id > %(after)s AND t.id %% 50 = 0
"""
STEPS = """
INSERT INTO companion_flagstep (flag_id, at, what, who)
SELECT f.id, f.opened_at, 'opened', '' FROM companion_flag f
WHERE NOT EXISTS (SELECT 1 FROM companion_flagstep s WHERE s.flag_id = f.id)
"""

RECORD = """
INSERT INTO ops_auditentry (at, who, what, about, note)
SELECT now() - interval '3 hours' - (20000000 - n) * interval '3 seconds', 'staff-' || n %% 40,
       (ARRAY['read_along', 'opened_conversation', 'read_story', 'searched_people'])[1 + n %% 4],
       people.ids[1 + n %% cardinality(people.ids)], ''
FROM generate_series(%(first)s::bigint, %(last)s) n,
     (SELECT array_agg(id ORDER BY id) AS ids FROM companion_participant) people
"""
# Long times, so that a run of retention finds nothing to delete.
KEEP = """
UPDATE companion_site SET keep_messages_days = 36500, keep_flags_days = 36500, keep_visits_days = 36500,
                          keep_record_days = 36500 WHERE keep_messages_days IS NULL
"""
NO_LOCKS = "UPDATE companion_visit SET locks_at = NULL WHERE ended_at IS NULL"


class Filling:
    """Fills one database up to sizes, for the measured site. `url` is a superuser's. Blocks."""

    def __init__(self, url: str, *, site: int, on_progress: OnProgress) -> None:
        self._connection = psycopg.connect(url, autocommit=True, application_name=OURS)
        self._connection.execute("SET session_replication_role = replica")
        self._site = site
        self._conversations: list[int] = []
        """Of the people that were added to the measured site: rows are about them."""
        self._on_progress = on_progress
        self._filled: dict[str, int] = {}

    def close(self) -> None:
        self._connection.close()

    def add_turns(self, size: int) -> None:
        """Fill up to so many stored turns of the people of the measured site, each with what hangs on it."""
        self._add_turns("stored turns", size, conversations=self._conversations)

    def add_turns_of(self, conversation: int, size: int) -> None:
        """Give one conversation so many turns."""
        self._add_turns(f"turns of conversation {conversation}", size, conversations=[conversation])

    def _add_turns(self, what: str, size: int, *, conversations: Sequence[int]) -> None:
        for first, last in self._sets(what, size):
            after = self._fetch_one(LAST_TURN)
            facts = {
                "first": first,
                "last": last,
                "conversations": list(conversations),
                "lane": LANE,
                "whole": Reason.WHOLE.value,
            }
            self._connection.execute(TURNS, facts)
            for statement in (ATTEMPTS, ENTRIES):
                self._connection.execute(statement, {"after": after})
            self._connection.execute(CLOSED_FLAGS, {"after": after, "site": self._site})
        self._connection.execute(STEPS)
        self._settle(
            "companion_turn",
            "companion_attempt",
            "companion_transcriptentry",
            "companion_flag",
            "companion_flagstep",
        )

    def add_people_here(self, many: int) -> None:
        """Add so many people to the measured site. Call it first."""
        after = self._fetch_one("SELECT coalesce(max(id), 0) FROM companion_participant")
        self._add_people({"site": self._site, "first": 1, "last": many}, after)
        rows = self._connection.execute(
            "SELECT c.id FROM companion_conversation c WHERE c.participant_id > %s ORDER BY c.id", [after]
        ).fetchall()
        self._conversations = [number for (number,) in rows]

    def add_people(self, size: int) -> None:
        """Fill up to so many participants, those beyond the measured site at sites of 500."""
        known = self._fetch_one("SELECT count(*) FROM companion_participant")
        self._filled.setdefault("participants", known)
        self._connection.execute(SITES, {"sites": -(-size // PEOPLE_OF_SITE)})
        for first, last in self._sets("participants", size):
            after = self._fetch_one("SELECT coalesce(max(id), 0) FROM companion_participant")
            self._add_people({"site": None, "first": first, "last": last}, after)
        self._settle("companion_site", "companion_visit", "companion_needs")

    def _add_people(self, facts: Mapping[str, Any], after: int) -> None:
        self._connection.execute(PEOPLE, {**facts, "of_site": PEOPLE_OF_SITE})
        for statement in (CONVERSATIONS, CONTROLS, NEEDS, PAST_VISITS):
            self._connection.execute(statement, {"after": after})
        self._settle("companion_participant", "companion_conversation", "companion_control")

    def add_waiting(self, size: int) -> None:
        """Fill up to so many turns that wait, of as many people. No process drives them."""
        self._connection.execute(OWNER, [WAITING_OWNER])
        live = self._fetch_one("SELECT count(*) FROM companion_turn WHERE state IN ('waiting', 'speaking')")
        facts = {"owner": WAITING_OWNER, "lane": LANE, "takes": LANE_TAKES, "ceiling": CEILING}
        # One transaction: a sweep in between would find people without a page.
        with self._connection.transaction():
            self._connection.execute(WAITING, {**facts, "many": size + CEILING - live})
            self._connection.execute(WATCHED)
        self._settle("companion_turn", "companion_conversation")

    def end_waiting(self) -> None:
        """End all of them."""
        self._connection.execute(END_WAITING)
        self._settle("companion_turn")

    def add_flags(self, size: int) -> None:
        """Fill up to so many open flags at the measured site. Staff have seen them."""
        for first, last in self._sets("open flags", size):
            facts = {"first": first, "last": last, "site": self._site}
            self._connection.execute(FLAGS, {**facts, "conversations": self._conversations})
        self._connection.execute(STEPS)
        self._settle("companion_flag", "companion_flagstep")

    def add_record(self, size: int) -> None:
        """Fill up to so many entries of the audit record, about all participants."""
        for first, last in self._sets("entries of the record", size):
            self._connection.execute(RECORD, {"first": first, "last": last})
        self._settle("ops_auditentry")

    def prepare(self) -> None:
        """Let no visit lock, because those who are measured give no sign of life, and let sites keep their rows."""
        self._connection.execute(NO_LOCKS)
        self._connection.execute(KEEP)

    def _sets(self, what: str, size: int) -> Iterator[tuple[int, int]]:
        """The first and the last number of each set that is missing."""
        done = self._filled.get(what, 0)
        while done < size:
            last = min(size, done + SET_ROWS)
            yield done + 1, last
            done = self._filled[what] = last
            self._on_progress(what, done, size)

    def _settle(self, *tables: str) -> None:
        """Do what autovacuum does after a while, so that it does not do it during a measurement."""
        for table in tables:
            self._connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))

    def _fetch_one(self, statement: str) -> int:
        [(value,)] = self._connection.execute(statement).fetchall()
        return int(value)
