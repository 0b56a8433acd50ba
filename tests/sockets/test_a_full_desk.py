"""The desk opens however many people are here: what is sent is not held to the bound of what is received (S2, S10)."""

import json
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection

from tests.desk_socket import Desk
from tests.people import People, in_database
from tests.processes import Web

HERE = 800
MAX_RECEIVED_BYTES = 262_144
"""The bound of a frame that a client sends."""

FILL = """
WITH person AS (
    INSERT INTO companion_participant (site_id, name, is_active, card_handle, card_issue)
    SELECT %(site)s, 'Zoë ' || chr(8238) || n || repeat(chr(769), 20) || '"\\<b>', true,
           substr(md5(%(site)s || '-' || n), 1, 8), 1
    FROM generate_series(1, %(here)s) n RETURNING id
), story AS (
    INSERT INTO companion_conversation (participant_id) SELECT id FROM person
)
INSERT INTO companion_visit (id, participant_id, opened_at, expires_at)
SELECT gen_random_uuid(), id, now(), now() + interval '1 hour' FROM person
"""
LEAVE = """
UPDATE companion_visit SET ended_at = now()
WHERE participant_id IN (SELECT id FROM companion_participant WHERE site_id = %(site)s)
"""


def execute(statement: str, site: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"site": site, "here": HERE})


@pytest.fixture
def full_house(people: People) -> Iterator[People]:
    """A site at which very many people are, whose names are odd."""
    in_database(lambda: execute(FILL, people.site.pk))
    yield people
    in_database(lambda: execute(LEAVE, people.site.pk))


READERS: dict[str, Callable[[People], User]] = {
    "their supervisor": lambda people: people.add_sam(),
    "an operator": lambda people: people.add_ines(),
}


@pytest.mark.parametrize("reader", READERS)
async def test_the_desk_of_very_many_people_opens_and_is_kept_up_to_date_for(
    service: Web, full_house: People, reader: str
) -> None:
    async with Desk.sign_in(service, full_house, READERS[reader](full_house)) as desk:
        assert sum(item["site"] == full_house.site.pk for item in desk.hello["people"]) == HERE
        assert len(json.dumps(desk.hello, ensure_ascii=False)) > MAX_RECEIVED_BYTES
        rosa = full_house.rosa
        rosa.sign_in(service.url)
        await desk.person(rosa.conversation.pk)


async def test_a_frame_to_the_desk_is_bounded_all_the_same(service: Web, full_house: People) -> None:
    async with Desk.sign_in(service, full_house, full_house.add_sam()) as desk:
        await desk.send("x" * (MAX_RECEIVED_BYTES + 1))
        assert await desk.close_code() == 1009
