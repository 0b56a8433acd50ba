"""What migrations do with rows that are there, in both directions."""

import importlib
import io

import psycopg
from django.core.management import call_command

from ops.stack.postgres import EmbeddedPostgres
from tests.people import in_database


def test_going_back_before_supervision_keeps_red_messages_as_refused_ones(
    database: EmbeddedPostgres,
) -> None:
    said = io.StringIO()
    in_database(lambda: call_command("sqlmigrate", "companion", "0002", backwards=True, stdout=said))
    statements = said.getvalue()
    changed = statements.index("SET state = 'refused' WHERE state = 'safety'")
    dropped = statements.index('DROP CONSTRAINT "turn_known_state"')
    # The constraint of before knows no state `safety`, and is checked for every row as it is added.
    assert dropped < changed < statements.index('ADD CONSTRAINT "turn_known_state"')


def test_processes_of_0_1_0_go_on_over_the_names_of_chunks_that_they_know(database: EmbeddedPostgres) -> None:
    migration = importlib.import_module("companion.migrations.0015_names_of_chunks")
    with psycopg.connect(database.url) as session:
        # As 0.1.0 created them, where nothing else looks.
        session.execute("CREATE SCHEMA of_0_1_0")
        session.execute("SET LOCAL search_path = of_0_1_0")
        session.execute(
            "CREATE TABLE companion_turn (id bigint PRIMARY KEY, cuts int[] DEFAULT '{}' NOT NULL)"
        )
        session.execute(
            "CREATE TABLE companion_spoken (turn_id bigint, seq int, text text, UNIQUE (turn_id, seq))"
        )
        session.execute("INSERT INTO companion_turn VALUES (1, '{3,4}'), (2, '{}')")
        session.execute("INSERT INTO companion_spoken VALUES (2, 1, 'Hel')")

        def read_lengths(turn: int) -> tuple[object, object]:
            [row] = session.execute("SELECT cuts, chunk_lengths FROM companion_turn WHERE id = %s", (turn,))
            return row[0], row[1]

        session.execute(migration.RENAME)
        assert read_lengths(1) == ([3, 4], [3, 4])

        session.execute(
            "INSERT INTO companion_spoken (turn_id, seq, text) VALUES (2, 1, 'Hel'), (2, 2, 'lo') "
            "ON CONFLICT (turn_id, seq) DO UPDATE SET text = companion_spoken.text"
        )
        stored = session.execute("SELECT seq, text FROM companion_replychunk ORDER BY seq").fetchall()
        assert stored == [(1, "Hel"), (2, "lo")]
        session.execute("UPDATE companion_turn SET cuts = '{3,2}' WHERE id = 2")
        session.execute("DELETE FROM companion_spoken WHERE turn_id = 2")
        assert read_lengths(2) == ([3, 2], [3, 2])
        assert session.execute("SELECT 1 FROM companion_replychunk").fetchone() is None

        session.execute("UPDATE companion_turn SET chunk_lengths = '{5}' WHERE id = 1")
        assert read_lengths(1) == ([5], [5])
        session.execute(migration.RENAME)
        assert read_lengths(1) == ([5], [5])
        session.rollback()
