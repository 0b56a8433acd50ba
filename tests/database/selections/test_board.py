"""What is known of a lane is its own: its own time to the first word, and no more than was looked for."""

from datetime import timedelta

import pytest
from django.db import connection

from companion.models import Attempt, Turn
from ops.models import MinuteFigures
from ops.selections.board import LaneStatus, build_concerns, read_board
from ops.text import format_age
from tests.people import People, in_database
from tests.selections import ROUTING, forget_lane_answers

SECOND = "rehearsal_second"


@pytest.fixture(autouse=True)
def _no_lane_has_answered(database: object) -> None:
    forget_lane_answers()


def answered(
    people: People, *, ago: timedelta, first_word_s: float, tries: list[tuple[str, str, float]]
) -> None:
    """A whole reply of the last of these calls, each with its lane, its failure and when it began."""

    conversation = people.rosa.conversation.pk

    def write() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, lane,
                                               wait_until, created_at, admitted_at, first_word_at, closed_at)
                   SELECT %s, gen_random_uuid(), 'x', 'complete', gen_random_uuid(), '0', %s, at, at, at,
                          at + make_interval(secs => %s), at + interval '20 seconds'
                   FROM (SELECT clock_timestamp() - %s::interval AS at) then_ RETURNING id""",
                [conversation, tries[-1][0], first_word_s, f"{ago.total_seconds()} seconds"],
            )
            (turn,) = cursor.fetchone()
        for number, (lane, failure, began_s) in enumerate(tries, start=1):
            Attempt.objects.create(
                turn=Turn.objects.get(id=turn),
                number=number,
                lane=lane,
                model="m",
                failure=failure,
                waited_s=0,
                started_s=began_s,
                took_s=1,
                bytes_received=1,
                words=0 if failure else 9,
            )

    in_database(write)


def standing(lane: str) -> LaneStatus:
    # Minutes that are over may be kept already, without the turns that a test puts into them.
    in_database(lambda: MinuteFigures.objects.all().delete())
    (found,) = [one for one in in_database(lambda: read_board(ROUTING)).lanes if one.lane == lane]
    return found


def test_a_lane_is_not_charged_with_the_time_that_others_took_before_it_was_asked(people: People) -> None:
    tries = [("rehearsal", "first_word_timeout", 0.0), (SECOND, "", 8.0)]
    answered(people, ago=timedelta(minutes=5), first_word_s=8.354, tries=tries)
    assert (standing(SECOND).first_word_p50_ms, standing(SECOND).first_word_p95_ms) == (354, 354)


def test_a_lane_that_answered_two_days_ago_is_not_said_to_have_never_answered(people: People) -> None:
    answered(people, ago=timedelta(days=2), first_word_s=0.3, tries=[(SECOND, "", 0.0)])
    seen = standing(SECOND)
    assert (
        format_age(seen.last_answered_at, in_database(lambda: read_board(ROUTING)).now)
        == "not in the last day"
    )
    concerns = in_database(lambda: build_concerns(ROUTING)("pin_second"))
    assert f"{SECOND} comes first in this chain and has not answered in the last day." in [
        concern.said for concern in concerns
    ]
