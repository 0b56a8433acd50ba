"""The roles of an embedded cluster of a release before, whose superuser owned everything."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from ops.stack.postgres import EmbeddedPostgres
from ops.stack.roles import OWNER, SERVICE, prepare_roles

FORMER = """
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, word text);
CREATE TABLE counted (id bigserial PRIMARY KEY);
CREATE SEQUENCE alone;
CREATE VIEW seen AS SELECT word FROM kept;
CREATE FUNCTION said() RETURNS int LANGUAGE sql AS 'SELECT 1';
INSERT INTO kept (word) VALUES ('one');
"""
OWNERS = """
SELECT DISTINCT pg_get_userbyid(relowner)::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace
UNION SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()
"""


@pytest.fixture(scope="module")
def former() -> Iterator[EmbeddedPostgres]:
    with tempfile.TemporaryDirectory(prefix="companion-roles-") as path:
        os.chmod(path, 0o755)
        server = EmbeddedPostgres(Path(path) / "postgres", settings={"fsync": "off"})
        with psycopg.connect(server.start()) as connection:
            connection.execute(FORMER)
        yield server
        server.kill()


def test_everything_goes_to_the_owner_and_the_rows_stay_usable(former: EmbeddedPostgres) -> None:
    for _ in range(2):
        prepare_roles(former.url)

    with psycopg.connect(former.url_as(SERVICE)) as service:
        assert service.execute(OWNERS).fetchall() == [(OWNER,)]
        service.execute("INSERT INTO kept (word) VALUES ('two')")
        service.execute("INSERT INTO counted DEFAULT VALUES")
        assert service.execute("SELECT word FROM seen ORDER BY word").fetchall() == [("one",), ("two",)]


def test_a_table_that_the_owner_makes_later_is_open_to_the_service(former: EmbeddedPostgres) -> None:
    prepare_roles(former.url)
    with psycopg.connect(former.url_as(OWNER)) as owner:
        owner.execute("CREATE TABLE later (id bigserial PRIMARY KEY, word text)")

    with psycopg.connect(former.url_as(SERVICE)) as service:
        service.execute("INSERT INTO later (word) VALUES ('one')")
        service.execute("UPDATE later SET word = 'two'")
        service.execute("DELETE FROM later")
        with pytest.raises(errors.InsufficientPrivilege):
            service.execute("ALTER TABLE later ADD COLUMN planted text")


def test_rights_that_a_role_was_given_meanwhile_are_taken_back(former: EmbeddedPostgres) -> None:
    with psycopg.connect(former.url) as superuser:
        superuser.execute(f"ALTER ROLE {SERVICE} SUPERUSER".encode())

    prepare_roles(former.url)

    with psycopg.connect(former.url_as(SERVICE)) as service:
        assert service.execute("SHOW is_superuser").fetchone() == ("off",)
