"""After a restore for real the database is compared with the manifest of its backup (D4)."""

from pathlib import Path

import pytest

from ops.backups.check_restored import compare_with_manifest, list_statements
from ops.backups.run.errors import ArchiveDamaged
from ops.backups.run.monitor import RunMonitor
from tests.database.backups.conftest import MakeBackup
from tests.database.backups.drill_server import KEY, SETTING, Server


def test_a_restored_database_is_held_against_its_backup_before_people_come_back(
    server: Server, make: MakeBackup
) -> None:
    made = make()
    server.create("for_real", like="sample")

    def held() -> list[str]:
        address = server.address("for_real")
        found = compare_with_manifest(
            address, made.path, setting=SETTING, jobs=2, no_owner=False, monitor=RunMonitor(), key=KEY
        )
        return [str(difference) for difference in found.differences]

    try:
        assert held() == []
        server.load("for_real", "INSERT INTO heap VALUES (5, 'five')")
        assert held() == ["table public.heap: at least 1 key with other content; 4 rows became 5"]
    finally:
        server.drop("for_real")


def test_the_statements_for_a_restore_make_a_database_like_the_one_that_was_backed_up(
    server: Server, make: MakeBackup
) -> None:
    server.load("postgres", "CREATE DATABASE plain_c TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'")
    server.load("plain_c", "CREATE TABLE django_migrations AS SELECT 1 AS id, 'a' AS app, '1' AS name")
    try:
        made = make(database="plain_c", hours=5)
        said = list_statements(made.path, name="restored", owner="companion", key=KEY)
        for statement in said:
            if " DATABASE " in statement:
                server.load("postgres", statement)
        shapes = "SELECT count(DISTINCT (encoding, datlocprovider, datlocale, datcollate, datctype)) FROM pg_database"
        alike = server.one("postgres", f"{shapes} WHERE datname IN ('plain_c', 'restored')")
    finally:
        server.drop("plain_c")
        server.drop("restored")

    assert 'CREATE ROLE "companion" LOGIN;' in said
    assert alike == 1


def test_what_no_dump_holds_is_made_by_the_statements_and_held_against_the_backup(
    server: Server, make: MakeBackup
) -> None:
    server.create("settled", like="sample")
    server.load("settled", """ALTER DATABASE settled SET search_path = "$user", 'Odd one', public""")
    server.load("settled", "ALTER DATABASE settled SET companion.greeting = 'it''s us'")
    server.load("settled", "ALTER ROLE sample_reader IN DATABASE settled SET work_mem = '5MB'")
    server.load("settled", "REVOKE ALL ON DATABASE settled FROM PUBLIC")
    server.load("settled", "GRANT CONNECT ON DATABASE settled TO sample_reader WITH GRANT OPTION")
    server.load("settled", "ALTER DATABASE settled CONNECTION LIMIT 90")
    server.load("settled", "ALTER DATABASE settled OWNER TO sample_owner")
    made = make(database="settled", hours=7)
    said = [
        statement
        for statement in list_statements(made.path, name="for_real", owner="companion", key=KEY)
        if " DATABASE " in statement
    ]

    def held(*, no_owner: bool = False) -> list[str]:
        address = server.address("for_real")
        found = compare_with_manifest(
            address, made.path, setting=SETTING, jobs=2, no_owner=no_owner, monitor=RunMonitor(), key=KEY
        )
        return [str(difference) for difference in found.differences]

    try:
        # As a restore for real: an empty database by these statements, or here one with the rows in it already.
        server.create("for_real", like="sample")
        assert held() == [
            "database grant itself: its grant to PUBLIC is only in the copy",
            "database grant itself: its grant to sample_reader is missing in the copy",
            "database owner itself: another limit of connections",
            "database owner itself: another owner",
            "database setting companion.greeting: missing in the copy",
            "database setting search_path: missing in the copy",
            "database setting work_mem for sample_reader: missing in the copy",
        ]
        assert held(no_owner=True) == held()[4:]
        for statement in said:
            if not statement.startswith("CREATE DATABASE"):
                server.load("postgres", statement)
        server.load("postgres", "ALTER DATABASE for_real OWNER TO sample_owner")
        assert 'CREATE DATABASE "for_real" OWNER "sample_owner"' in said[0]
        assert held() == []
        server.load("postgres", "ALTER DATABASE for_real SET search_path = public")
        assert held() == ["database setting search_path: another value"]
    finally:
        server.drop("settled")
        server.drop("for_real")


def test_a_file_that_is_no_manifest_cannot_be_held_against(server: Server, state: Path) -> None:
    (state / "manifest.json").write_text("[]")

    with pytest.raises(ArchiveDamaged):
        compare_with_manifest(
            server.address("sample"),
            state,
            setting=SETTING,
            jobs=1,
            no_owner=False,
            monitor=RunMonitor(),
            key=KEY,
        )
