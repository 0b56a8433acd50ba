"""What the desk reads follows who is here and what is open, and not what is stored (S4, S10)."""

from typing import Any

import pytest
from django.db import connection, transaction

from companion.supervision.flag_views import LIST_NOT_CLOSED
from ops.database import fetch_all
from ops.supervision import people as desk_people
from ops.supervision.search import FIND_PEOPLE, search_parameters
from tests.people import People, in_database

ROWS = 20_000


def store_much(people: People) -> None:
    """Visits that ended or ran out, and closed flags, of one person; and many people of the site."""
    rosa = people.rosa

    def insert() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO companion_visit (id, participant_id, opened_at, expires_at, ended_at) "
                "SELECT gen_random_uuid(), %(person)s, now() - interval '2 days', now() - interval '1 day', "
                "CASE WHEN n %% 2 = 0 THEN now() - interval '1 day' END FROM generate_series(1, %(rows)s) n",
                {"person": rosa.row.pk, "rows": ROWS},
            )
            cursor.execute(
                "INSERT INTO companion_flag (tier, kind, source, participant, site_id, state, owner, owner_name, "
                "accepted_at, closed_at, outcome) SELECT 'red', 'k', 'message', %(person)s, %(site)s, 'closed', 1, "
                "'Sam', now(), now(), 'unsure' FROM generate_series(1, %(rows)s)",
                {"person": rosa.row.pk, "site": people.site.pk, "rows": ROWS},
            )
            cursor.execute(
                "INSERT INTO companion_participant (site_id, name, is_active, card_handle, card_issue, link_misses) "
                "SELECT %(site)s, 'Person ' || n, true, 'p' || substr(md5(%(site)s || '-' || n), 1, 7), 1, 0 "
                "FROM generate_series(1, %(rows)s) n ON CONFLICT DO NOTHING",
                {"site": people.site.pk, "rows": ROWS},
            )
            cursor.execute("ANALYZE companion_visit, companion_flag, companion_participant")

    in_database(insert)


def forget_much(people: People) -> None:
    def delete() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM companion_flag WHERE site_id = %s", [people.site.pk])
            cursor.execute(
                "DELETE FROM companion_visit v USING companion_participant p "
                "WHERE p.id = v.participant_id AND p.site_id = %s",
                [people.site.pk],
            )
            cursor.execute(
                "DELETE FROM companion_participant WHERE site_id = %s AND name LIKE 'Person %%'",
                [people.site.pk],
            )

    in_database(delete)


def explain(query: str, facts: dict[str, Any]) -> str:
    def run() -> str:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {query}", facts)
            return "\n".join(row[0] for row in cursor.fetchall())

    return in_database(run)


@pytest.fixture
def much(people: People) -> Any:
    store_much(people)
    yield
    forget_much(people)


def test_each_read_follows_its_own_index(people: People, much: None) -> None:
    sites = [people.site.pk]
    here = explain(desk_people.READ_PEOPLE, desk_people.people_parameters(sites))
    assert "visit_live" in here and "Seq Scan on companion_visit" not in here
    flags = explain(LIST_NOT_CLOSED, {"sites": sites, "limit": 200})
    assert "flag_not_closed" in flags and "Seq Scan on companion_flag" not in flags
    for is_whole_name in (False, True):
        found = explain(FIND_PEOPLE, search_parameters("ro", sites=sites, is_whole_name=is_whole_name))
        assert "participant_by_name" in found and "Seq Scan on companion_participant" not in found


def test_people_of_a_site_are_listed_however_many_are_here_at_another(people: People) -> None:
    rosa, sites = people.rosa, [people.site.pk, people.elsewhere.pk]
    crowd = desk_people.MAX_VISITS_PER_SITE + 500

    def list_here() -> tuple[list[int], list[int]]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO companion_visit (id, participant_id, expires_at) "
                "VALUES (gen_random_uuid(), %s, now() + interval '1 hour')",
                [rosa.row.pk],
            )
            cursor.execute(
                "WITH crowd AS ("
                "INSERT INTO companion_participant (site_id, name, is_active, card_handle, card_issue, link_misses) "
                "SELECT %(site)s, 'Person ' || n, true, 'p' || substr(md5(%(site)s || '-' || n), 1, 7), 1, 0 "
                "FROM generate_series(1, %(crowd)s) n ON CONFLICT DO NOTHING RETURNING id"
                "), talks AS ("
                "INSERT INTO companion_conversation (participant_id) SELECT id FROM crowd) "
                "INSERT INTO companion_visit (id, participant_id, expires_at) "
                "SELECT gen_random_uuid(), id, now() + interval '2 hours' FROM crowd",
                {"site": people.elsewhere.pk, "crowd": crowd},
            )
            found = [
                [
                    desk_people.parse_person(row)
                    for row in fetch_all(desk_people.READ_PEOPLE, desk_people.people_parameters(asked))
                ]
                for asked in ([people.site.pk], sites)
            ]
            transaction.set_rollback(True)
        own, everyone = found
        return [one.participant for one in own], [one.participant for one in everyone if one.site == sites[0]]

    own, of_everyone = in_database(list_here)

    assert own == of_everyone == [rosa.row.pk]
