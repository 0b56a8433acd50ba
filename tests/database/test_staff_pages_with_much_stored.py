"""Pages for staff while very much is stored (S4, S10)."""

import html
import re
from collections.abc import Callable
from typing import TypeVar

from django.db import connection, transaction
from django.test import Client

from tests.people import People, in_database

Result = TypeVar("Result")

SITES, MANY, OPEN = 500, 40_000, 2_000
FIRST = 10_000_000
"""The ids of what is stored here begin after it."""

# Each person has a conversation, a turn, a flag and a visit of long ago. The first ones are here, and rung for, now.
# The oldest turn found no place.
FILL = """
INSERT INTO companion_site (id, slug, name, is_open, regions, first_ring_s)
SELECT :first + n, 'site-' || n, 'Site ' || n, true, '{}', 60 FROM generate_series(1, :sites) n;
INSERT INTO companion_participant (id, site_id, name, is_active, card_handle, card_issue)
SELECT :first + n, :first + 1 + n % :sites, 'Person ' || n, true, 'c' || n, 1 FROM generate_series(1, :many) n;
INSERT INTO companion_conversation (id, participant_id) SELECT :first + n, :first + n FROM generate_series(1, :many) n;
INSERT INTO companion_control (conversation_id, take_overs)
SELECT :first + n, 0 FROM generate_series(1, :many) n ON CONFLICT DO NOTHING;
INSERT INTO companion_needs (participant_id, review_by)
SELECT :first + n, date '2020-01-01' - n % 997 FROM generate_series(1, :many) n;
INSERT INTO companion_machine (id, site_id, name, paired_by, token_hash, seen_at)
SELECT ('00000000-0000-4000-8000-' || lpad((:first + n)::text, 12, '0'))::uuid, :first + 1, 'Machine ' || n, 'Sam', 'x',
       now()
FROM generate_series(1, 400) n;
INSERT INTO companion_visit (id, participant_id, opened_at, expires_at, ended_at)
SELECT gen_random_uuid(), :first + n, now() - interval '2 days', now() - interval '1 day', now() - interval '1 day'
FROM generate_series(1, :many) n;
INSERT INTO companion_visit (id, participant_id, opened_at, expires_at)
SELECT gen_random_uuid(), :first + n, now(), now() + interval '1 hour' FROM generate_series(1, :open) n;
INSERT INTO companion_turn (id, conversation_id, key, question, reply, state, owner, persona_version, wait_until,
                            created_at, closed_at)
SELECT :first + n, :first + n, gen_random_uuid(), '?', 'Yes.', 'complete', gen_random_uuid(), '-', now(),
       now() - interval '1 day', now() - interval '1 day'
FROM generate_series(1, :many) n;
INSERT INTO companion_turn (id, conversation_id, key, question, state, reason, owner, persona_version, wait_until,
                            closed_at)
VALUES (:first, :first + 1, gen_random_uuid(), '?', 'refused', 'wait_ceiling', gen_random_uuid(), '-', now(), now());
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, state, outcome, owner,
                            owner_name, opened_at, accepted_at, closed_at)
SELECT 'red', 'help', 'button', :first + n, :first + n, :first + 1 + n % :sites, 'closed', 'unsure', 1,
       'Sam ' || n % 20, now() - interval '20 days', now() - interval '20 days', now() - interval '20 days'
FROM generate_series(1, :many) n;
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, state, owner, owner_name,
                            accepted_at)
SELECT 'red', 'help', 'button', :first + n, :first + n, :first + 1 + n % :sites,
       CASE WHEN n % 2 = 0 THEN 'open' ELSE 'accepted' END, CASE WHEN n % 2 = 1 THEN 1 END,
       CASE WHEN n % 2 = 1 THEN 'Sam' ELSE '' END, CASE WHEN n % 2 = 1 THEN now() END
FROM generate_series(1, :open) n;
INSERT INTO companion_staffpause (scope, about, reason, by_name)
SELECT 'person', :first + n, 'a test', 'Sam' FROM generate_series(1, :open) n;
INSERT INTO ops_alert (kind, about, acknowledged_at, acknowledged_by)
SELECT 'turn_lost', 'number ' || n, now(), 'Ines' FROM generate_series(1, :many) n;
INSERT INTO ops_alert (kind, about) SELECT 'turn_lost', 'number ' || n FROM generate_series(1, :open) n;
INSERT INTO ops_auditentry (who, what, about, at)
SELECT 'sam', 'read_along', :first + n, now() FROM generate_series(1, :many) n;
INSERT INTO auth_user (username, password, first_name, last_name, email, is_staff, is_active, is_superuser, date_joined)
SELECT 'colleague-' || n, '-', '', '', '', true, true, false, now() FROM generate_series(1, :open) n;
INSERT INTO ops_supervision (user_id, site_id)
SELECT id, :first + 1 FROM auth_user WHERE username LIKE 'colleague-%';
ANALYZE
"""


def with_much_stored(call: Callable[[], Result]) -> Result:
    """Run a call while very much is stored, for this connection alone; then it is taken back."""
    facts = {":first": FIRST, ":sites": SITES, ":many": MANY, ":open": OPEN}
    fill = re.sub("|".join(facts), lambda found: str(facts[found[0]]), FILL)
    with transaction.atomic():
        with connection.cursor() as cursor:
            for statement in fill.split(";\n"):
                cursor.execute(statement)
        found = call()
        transaction.set_rollback(True)
    return found


def test_a_turn_that_is_rare_is_found_on_the_first_page_of_its_list(people: People) -> None:
    ines = people.add_ines()

    def follow() -> list[str]:
        client = Client()
        client.force_login(ines)
        address, pages = "?show=refused", list[str]()
        while address:
            pages.append(client.get(f"/ops/turns/{address}", headers={"Host": "127.0.0.1"}).text)
            further = re.search(r'href="([^"]+)">Next page', pages[-1])
            address = html.unescape(further[1]) if further else ""
        return pages

    pages = in_database(lambda: with_much_stored(follow))

    found = [f'href="/ops/turns/{FIRST}/"' in page for page in pages]
    assert found.count(True) == 1 and found[0]
