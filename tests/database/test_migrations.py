"""What migrations do with rows that are there, in both directions."""

import io

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
