"""What a page for staff reads, asks and weighs does not grow with what is stored, for any reader (S4, S10)."""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, get_resolver
from django.utils import timezone

from companion.models import Control, Flag
from companion.supervision.flag_views import MAX_LISTED_PER_SITE
from ops.minutes import get_last_hour
from ops.models import Supervision
from ops.staff.desk_queries import MAX_WATCHED
from ops.staff.shift_page import MAX_MINE
from ops.staff.shown import MAX_SHOWN
from ops.supervision.machines import MAX_MACHINES
from ops.transcripts.records import TurnList
from tests.people import People, in_database

Result = TypeVar("Result")

SITES, MANY, OPEN = 500, 20_000, 1_000
FIRST = 10_000_000
"""The ids of what is stored here begin after it."""
MACHINE = "00000000-0000-4000-8000-000010000099"
"""By name the last of 400 machines of one site; their list holds fewer."""
MAX_QUERIES = 30
MAX_ROWS_READ = 19 * OPEN
"""For each person who is here, with a flag and a pause, beyond what the page reads while little is stored. Less than
`MANY`: a page that reads all of one kind fails.
"""
MAX_BYTES = 800_000
"""Twenty flags of a shift, each with a list of 500 colleagues."""

# Each person has a conversation, a turn, a flag and a visit of long ago. The first ones are here, and rung for, now.
# The oldest turn found no place. The others ended today, on a lane that routing does not name.
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
                            created_at, closed_at, lane)
SELECT :first + n, :first + n, gen_random_uuid(), '?', 'Yes.', 'complete', gen_random_uuid(), '-', now(),
       now() - interval '20 hours', now() - interval '20 hours', 'another'
FROM generate_series(1, :many) n;
INSERT INTO companion_turn (id, conversation_id, key, question, state, reason, owner, persona_version, wait_until,
                            closed_at)
VALUES (:first, :first + 1, gen_random_uuid(), '?', 'refused', 'wait_ceiling', gen_random_uuid(), '-', now(), now());
INSERT INTO companion_flag (tier, kind, source, conversation_id, participant, site_id, state, outcome, owner,
                            owner_name, opened_at, accepted_at, closed_at)
SELECT 'red', 'help', 'button', :first + n, :first + n, :first + 1 + n % :sites, 'closed', 'unsure', 1,
       'Sam ' || n % 20, now() - interval '80 days', now() - interval '80 days', now() - interval '80 days'
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What one page took: statements, rows that they read, bytes of the answer."""

    status: int
    queries: int
    rows: int
    size: int

    def is_within(self, max_rows: int) -> bool:
        return self.queries <= MAX_QUERIES and self.rows <= max_rows and self.size <= MAX_BYTES


def list_addresses() -> Iterator[str]:
    """Every address for staff, about what is stored here; and each list and search."""
    known = {"conversation": FIRST + 2_000, "turn": FIRST + 2_000, "machine": MACHINE, "alert": 1, "offer": 1}
    for pattern in get_resolver().url_patterns:
        # Programs read the others.
        if isinstance(pattern, URLPattern) and (route := str(pattern.pattern)).endswith("/"):
            yield "/" + re.sub(r"<\w+:(\w+)>", lambda part: str(known[part[1]]), route)
    yield from (f"/ops/turns/?show={name}" for name in TurnList)
    yield from (
        "/ops/people/?name=person",
        "/ops/record/?who=",
        "/ops/record/?who=tom",
        "/ops/cards/?name=person",
    )
    yield f"/ops/shift/times/?site=site-{SITES // 2}"


def count_rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"
        )
        return int(cursor.fetchone()[0])


def measure(client: Client, address: str) -> Cost:
    before = count_rows_read()
    with CaptureQueriesContext(connection) as read:
        answer = client.get(address, headers={"Host": "127.0.0.1"})
    return Cost(
        status=answer.status_code,
        queries=len(read),
        rows=count_rows_read() - before,
        size=len(answer.content),
    )


def with_much_stored(
    call: Callable[[], Result], *, sites: int = SITES, many: int = MANY, opened: int = OPEN
) -> Result:
    """Run a call while very much is stored, for this connection alone; then it is taken back."""
    facts = {":first": FIRST, ":sites": sites, ":many": many, ":open": opened}
    fill = re.sub("|".join(facts), lambda found: str(facts[found[0]]), FILL)
    with transaction.atomic():
        with connection.cursor() as cursor:
            for statement in fill.split(";\n"):
                cursor.execute(statement)
        found = call()
        transaction.set_rollback(True)
    return found


# The pages of an operator are about all sites: they take most of the time.
@pytest.mark.parametrize("reader", [pytest.param("operator", marks=pytest.mark.long), "supervisor"])
def test_no_page_for_staff_reads_or_shows_more_because_much_is_stored(people: People, reader: str) -> None:
    user: User = people.add_ines() if reader == "operator" else people.add_sam()

    def measure_all() -> dict[str, Cost]:
        if reader == "supervisor":
            Supervision.objects.create(user=user, site_id=FIRST + 1)
        # As the worker does, which keeps the minutes that are over: turns of other tests may have ended in them.
        get_last_hour()
        client = Client()
        client.force_login(user)
        return {address: measure(client, address) for address in list_addresses()}

    # An operator also reads the sites, staff and flags that other tests have left: they count in both.
    of_little = in_database(lambda: with_much_stored(measure_all, sites=1, many=1, opened=1))
    costs = in_database(lambda: with_much_stored(measure_all))

    assert {
        address: cost
        for address, cost in costs.items()
        if not cost.is_within(of_little[address].rows + MAX_ROWS_READ)
    } == {}
    assert costs[f"/ops/machines/{MACHINE}/"].status == (200 if reader == "supervisor" else 404)


def read_pages(people: People, *addresses: str) -> list[str]:
    """Pages of a supervisor of one site: 250 people are here, each with a flag; Sam has accepted half of the flags, and
    the companion is quiet for all."""
    sam = people.add_sam()

    def read() -> list[str]:
        Supervision.objects.create(user=sam, site_id=FIRST + 1)
        Flag.objects.filter(site=FIRST + 1, state="accepted").update(owner=sam.pk)
        Control.objects.filter(conversation__gt=FIRST).update(quiet_since=timezone.now())
        client = Client()
        client.force_login(sam)
        return [client.get(address, headers={"Host": "127.0.0.1"}).text for address in addresses]

    return in_database(lambda: with_much_stored(read, sites=1, many=300, opened=250))


def test_a_list_that_is_longer_than_the_page_says_how_many_more_there_are(people: People) -> None:
    [desk] = read_pages(people, "/ops/people/")

    assert len(re.findall(r'data-person="[1-9]', desk)) == MAX_SHOWN
    assert "50 more are not shown here. Find them by name." in desk


def test_of_many_flags_of_the_reader_the_shift_shows_twenty_and_how_many_more_there_are(
    people: People,
) -> None:
    [shift] = read_pages(people, "/ops/shift/")

    # The list of all flags holds the newest 200 of a site, and half of them are Sam's.
    more = MAX_LISTED_PER_SITE // 2 - MAX_MINE
    assert f"{more} more are not shown here. They follow when these are handed over." in shift


def test_the_shift_says_that_more_people_may_be_watched_than_it_lists(people: People) -> None:
    [shift] = read_pages(people, "/ops/shift/")

    assert shift.count("the companion is quiet after a red message") == MAX_WATCHED
    assert f"These are {MAX_WATCHED} of them; there may be more." in shift


def test_a_machine_behind_the_last_of_the_list_is_opened_by_its_address(people: People) -> None:
    listed, page = read_pages(people, "/ops/machines/", f"/ops/machines/{MACHINE}/")

    assert listed.count(">Machine ") == MAX_MACHINES and MACHINE not in listed
    assert f"These are the first {MAX_MACHINES} by site and name; there may be more." in listed
    assert "Machine 99" in page


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
