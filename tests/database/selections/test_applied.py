"""`manage.py route applied`: from a selection to the first call at its new head, read off stored turns (R4)."""

import json
import uuid
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection

from ops.models import SelectionRow
from routing.lanes import NORMAL
from tests.people import People, in_database
from tests.selections import newest, route, select

SECOND = "rehearsal_second"

TURN = """
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, lane, routing_version,
                            wait_until, created_at, admitted_at, closed_at)
SELECT %(of)s, gen_random_uuid(), '?', 'complete', %(owner)s, '-', %(lane)s, %(version)s, at, at, at,
       at + interval '5 seconds'
FROM (SELECT s.at + make_interval(secs => %(after_s)s) AS at FROM ops_selection s WHERE s.version = %(version)s) a
RETURNING id
"""
CALL = """
INSERT INTO companion_attempt (turn_id, number, lane, model, failure, code, waited_s, started_s, took_s,
                               bytes_received, words)
VALUES (%s, 1, %s, '-', '', '', 0, %s, 1, 1, 1)
"""


def served(
    people: People, *, after_s: float, started_s: float = 0.25, lane: str = SECOND, owner: uuid.UUID
) -> None:
    facts: dict[str, Any] = {
        "of": people.rosa.conversation.pk,
        "owner": owner,
        "lane": lane,
        "after_s": after_s,
    }

    def write() -> None:
        version = SelectionRow.objects.latest("version").version
        with connection.cursor() as cursor:
            cursor.execute(TURN, facts | {"version": version})
            cursor.execute(CALL, [cursor.fetchone()[0], lane, started_s])

    in_database(write)


def test_it_names_the_first_call_of_each_process(people: People) -> None:
    select("pin_second")
    quick, slow = uuid.uuid4(), uuid.uuid4()
    served(people, after_s=40, owner=slow)
    served(people, after_s=1, owner=quick)
    served(people, after_s=2, owner=quick)

    found = json.loads(route("applied", "--json"))

    assert found["by_process"] == {str(quick): 1.25, str(slow): 40.25}
    assert (found["version"], found["lane"], found["in_time"]) == (newest().version, SECOND, True)
    assert "the first call at rehearsal_second began 1.250 s after it was selected" in route("applied")


def test_calls_at_another_lane_and_long_after_do_not_count(people: People) -> None:
    select("pin_second")
    served(people, after_s=1, lane="rehearsal", owner=uuid.uuid4())
    served(people, after_s=700, owner=uuid.uuid4())
    with pytest.raises(CommandError, match="Try again after a participant has written"):
        route("applied")


def test_an_earlier_version_can_be_asked_for_and_an_unknown_one_is_refused(people: People) -> None:
    select("pin_second")
    version = newest().version
    served(people, after_s=1, owner=uuid.uuid4())
    route("revert", "--by", "Ines")
    assert newest().preset == NORMAL
    assert f"Version {version}, pin_second" in route("applied", str(version))
    with pytest.raises(CommandError, match="There is no version 987654"):
        route("applied", "987654")


def test_a_first_call_after_more_than_ten_seconds_is_said_to_be_late(people: People) -> None:
    select("pin_second")
    served(people, after_s=60, owner=uuid.uuid4())
    with pytest.raises(CommandError, match="longer than ten seconds"):
        route("applied")
