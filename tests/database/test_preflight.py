"""A preflight on real databases that are not as the service needs them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.test import override_settings
from psycopg import sql

from ops.preflight.database import judge_database
from ops.preflight.database_addresses import judge_direct_address, judge_tables
from ops.preflight.database_look import commit_once, look_at_database
from ops.preflight.sections import judge_reached_database
from ops.stack.postgres import EmbeddedPostgres
from tests.people import in_database
from tests.standby import ask

ROLE = "preflight_tried"
Look = Callable[[], Any]


@pytest.fixture
def tried_role(database: EmbeddedPostgres) -> Iterator[str]:
    """A role that may use rows of every table, and nothing else."""
    ask(database, f"CREATE ROLE {ROLE} LOGIN")
    ask(database, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {ROLE}")
    ask(database, f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {ROLE}")
    yield ROLE
    ask(database, f"DROP OWNED BY {ROLE}")
    ask(database, f"DROP ROLE {ROLE}")


def connect_as(database: EmbeddedPostgres, role: str, name: str = "companion") -> Callable[[], Any]:
    url = database.url_as(role).replace("/companion?", f"/{name}?")
    return partial(psycopg.AsyncConnection.connect, url, autocommit=True, prepare_threshold=None)


async def list_ids(connect: Callable[[], Any], *, now: Callable[[], float] | None = None) -> list[str]:
    clock = {} if now is None else {"wall_clock": now}
    facts = await look_at_database(connect, **clock)
    found = {str(message.id).removeprefix("companion.") for message in judge_database(facts, connections=27)}
    # The servers of tests need not survive a crash.
    return sorted(found - {"W024"})


async def test_a_role_with_rows_alone_is_all_that_is_needed(
    database: EmbeddedPostgres, tried_role: str
) -> None:
    connect = connect_as(database, tried_role)

    assert await list_ids(connect) == []
    assert await commit_once(connect, within_s=30) > 0


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("ALTER ROLE {} SET search_path = nowhere", ["E025"]),
        ("ALTER ROLE {} SET default_transaction_read_only = on", ["E023"]),
        ("ALTER ROLE {} SET TimeZone = 'Asia/Tokyo'", ["I020"]),
        ("ALTER ROLE {} SET idle_session_timeout = '1min'", ["W023"]),
        ("ALTER ROLE {} SUPERUSER", ["W026"]),
        ("REVOKE INSERT ON companion_turn FROM {}", ["E026"]),
        ("REVOKE USAGE ON SEQUENCE companion_turn_id_seq FROM {}", ["E026"]),
    ],
)
async def test_what_a_role_lacks_is_told_by_its_number(
    database: EmbeddedPostgres, tried_role: str, statement: str, said: list[str]
) -> None:
    ask(database, statement.format(tried_role))

    assert await list_ids(connect_as(database, tried_role)) == said


async def test_a_clock_ten_minutes_off_is_told(database: EmbeddedPostgres, tried_role: str) -> None:
    [server] = ask(database, "SELECT extract(epoch FROM clock_timestamp())::float8")

    assert await list_ids(connect_as(database, tried_role), now=lambda: server[0] - 600) == ["W025"]


@pytest.fixture
def odd_database(database: EmbeddedPostgres) -> Iterator[str]:
    """A database that cannot hold what people write, and folds ASCII letters only."""
    ask(
        database,
        "CREATE DATABASE preflight_odd TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc",
    )
    yield "preflight_odd"
    ask(database, "DROP DATABASE preflight_odd WITH (FORCE)")


async def test_a_database_of_another_encoding_is_refused(
    database: EmbeddedPostgres, tried_role: str, odd_database: str
) -> None:
    assert await list_ids(connect_as(database, tried_role, odd_database)) == ["E022", "W021"]


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("postgresql://companion@127.0.0.1:1/companion", "cannot be reached"),
        ("{own}_absent", "There is no database companion_absent there."),
        ("{role}", "cannot be reached"),
    ],
)
def test_a_database_that_does_not_answer_is_one_sentence_without_the_address(
    database: EmbeddedPostgres, url: str, word: str
) -> None:
    own = database.url.replace("/companion?", "/companion_absent?")
    named = {"{own}_absent": own, "{role}": database.url_as("absent")}.get(url, url)
    with override_settings(DATABASE_URL=named):
        [said] = judge_reached_database(connections=27)

    assert said.id == "companion.E020"
    assert word in said.msg
    assert named not in f"{said.msg} {said.hint}"


def test_tables_behind_this_release_and_ahead_of_it_are_told_apart(database: EmbeddedPostgres) -> None:
    assert in_database(lambda: list(judge_tables("default"))) == []
    name = sql.Literal("0999_of_a_later_release")
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("INSERT INTO django_migrations (app, name, applied) VALUES ('ops', {}, now())").format(
                name
            )
        )
        [newer] = in_database(lambda: list(judge_tables("default")))
        connection.execute(sql.SQL("DELETE FROM django_migrations WHERE name = {}").format(name))
        connection.execute("UPDATE django_migrations SET app = 'away' WHERE app = 'ops'")
        try:
            behind = in_database(lambda: list(judge_tables("default")))
        finally:
            connection.execute("UPDATE django_migrations SET app = 'ops' WHERE app = 'away'")

    assert (newer.id, "ops.0999_of_a_later_release" in newer.msg) == ("companion.W028", True)
    assert [message.id for message in behind][:1] == ["companion.E027"]


def test_an_address_for_backups_that_leads_elsewhere_is_told(
    database: EmbeddedPostgres, odd_database: str
) -> None:
    in_use = settings.DATABASE_URL
    elsewhere = database.url.replace("/companion?", f"/{odd_database}?")

    assert list(judge_direct_address(in_use, in_use)) == []
    [said] = judge_direct_address(elsewhere, in_use)
    assert said.id == "companion.W045"
    assert "migration ledger" in said.msg
