"""Looking for kept questions reads those of the conversation alone, however many there are beside them."""

from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool

from companion.kept_questions import KEPT_TURNS, MAX_OFFERED
from ops.growth.plans import list_scans
from tests.people import People

LONG = 20_000
STORY = """
INSERT INTO companion_turn (conversation_id, key, question, state, owner, persona_version, wait_until, closed_at,
                            held_until, settled)
SELECT %(conversation)s, gen_random_uuid(), '?', 'paused', gen_random_uuid(), 'long', now(),
       now() - make_interval(hours => 3 + age), now() - make_interval(hours => 1 + age),
       CASE WHEN mod(number, 2) = 0 THEN 'let_go' ELSE '' END
FROM (SELECT number, CASE WHEN number > %(turns)s - %(kept)s THEN 0 ELSE 97 END AS age
      FROM generate_series(1, %(turns)s) number) story
"""
# As on a new database. Other tests may have left statistics of a table that was empty: until the next ANALYZE the
# planner takes it to be empty, and any index to be as good as another.
FORGET_STATISTICS = """
SELECT pg_clear_relation_stats(relnamespace::regnamespace::text, relname)
FROM pg_class LEFT JOIN pg_index ON indexrelid = pg_class.oid
WHERE 'companion_turn'::regclass IN (pg_class.oid, indrelid)
"""


@pytest.mark.parametrize("analyzed", [False, True], ids=["without statistics", "with statistics"])
async def test_of_a_long_story_only_the_kept_questions_are_read(
    pool: AsyncConnectionPool[Any], people: People, analyzed: bool
) -> None:
    rosa, otto = people.rosa.conversation.pk, people.otto.conversation.pk
    facts = {"conversations": [rosa], "offered": MAX_OFFERED, "keep_s": 86_400}
    async with pool.connection() as native, native.transaction(force_rollback=True):
        await native.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await native.execute(STORY, {"conversation": rosa, "turns": LONG, "kept": 8})
        await native.execute(STORY, {"conversation": otto, "turns": LONG, "kept": LONG})
        await native.execute("ANALYZE companion_turn" if analyzed else FORGET_STATISTICS)
        found = await (await native.execute(KEPT_TURNS, facts)).fetchall()
        explained = await native.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {KEPT_TURNS}", facts)
        [[[plan]]] = await explained.fetchall()
    [[conversation, turns]] = found
    assert (conversation, len(turns)) == (rosa, 4)
    read = {index: rows for table, index, rows in list_scans(plan["Plan"]) if table == "companion_turn"}
    assert "turn_unsettled" in read
    assert max(read.values()) <= 10
