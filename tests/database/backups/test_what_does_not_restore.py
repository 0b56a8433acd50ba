"""Databases of which a part cannot come back, or cannot even be read: each is named, and never by a value (D1)."""

import os
from pathlib import Path

import pytest

from ops.backups.backup import BackupOrder, back_up
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.errors import SourceDamaged
from ops.backups.run.monitor import RunMonitor
from tests.conftest import STATE
from tests.database.backups.conftest import RunDrill
from tests.database.backups.drill_server import KEY, SETTING, Server

ORPHAN = (
    "SET session_replication_role = replica; INSERT INTO visit (person_id, state) VALUES (424242, 'open'); "
    "SET session_replication_role = origin"
)
READS_ANOTHER_TABLE = (
    "CREATE TABLE zebra (id integer); INSERT INTO zebra SELECT 1; "
    "CREATE FUNCTION known(i integer) RETURNS boolean LANGUAGE plpgsql AS "
    "'BEGIN RETURN EXISTS (SELECT FROM zebra WHERE id = i); END'; "
    "CREATE TABLE acorn (id integer, said text, CONSTRAINT acorn_known CHECK (public.known(id))); "
    "INSERT INTO acorn VALUES (1, 'Rosa said')"
)


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        (ORPHAN, "constraint visit_person of table public.visit: rows of the dump have no parent"),
        (
            READS_ANOTHER_TABLE,
            "function public.known(integer): it fails in a restore, which needs it for rows of table",
        ),
    ],
    ids=["rows without their parent", "a check whose function reads another table"],
)
def test_what_a_restore_refuses_is_different_and_named_without_a_value(
    server: Server, drill: RunDrill, statements: str, named: str
) -> None:
    server.create("faulty", like="sample")
    server.load("faulty", statements)
    try:
        report = drill(source=server.address("faulty"), where="private server")
    finally:
        server.drop("faulty")

    assert report.verdict == DrillVerdict.DIFFERENT, report.to_text()
    (difference,) = report.differences
    assert difference.startswith(named)
    assert "424242" not in report.to_text() and "Rosa said" not in report.to_text()


def test_an_index_that_is_not_valid_at_the_source_is_a_remark(server: Server, drill: RunDrill) -> None:
    server.create("faulty", like="sample")
    with server.connected("faulty") as connection:
        connection.execute("SET allow_system_table_mods = on")
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'person_by_name'::regclass"
        )
    try:
        report = drill(source=server.address("faulty"))
    finally:
        server.drop("faulty")

    assert (report.verdict, report.differences) == (DrillVerdict.PROVED, ()), report.to_text()
    assert report.remarks == (
        "index public.person_by_name: not valid in the source, so a dump omits it. "
        "Rebuild it there, or drop it",
    )


def test_a_damaged_page_of_the_database_in_use_is_different_and_named_with_table_and_block(
    server: Server, drill: RunDrill, state: Path
) -> None:
    server.create("whole", like="sample")
    server.load(
        "whole",
        "CREATE TABLE long AS SELECT g AS id, repeat('x', 500) AS said FROM generate_series(1, 200) g",
    )
    # Copied as files, so that no page of it is in the server's memory.
    server.load("postgres", "CREATE DATABASE faulty TEMPLATE whole STRATEGY file_copy")
    damage(server, "faulty", "long", block=3)
    try:
        report = drill(source=server.address("faulty"))
        with pytest.raises(SourceDamaged, match=r"of table (public\.)?long") as refusal:
            back_up(
                BackupOrder(
                    source=server.address("faulty"), into=state / "backups", setting=SETTING, key=KEY, jobs=1
                ),
                RunMonitor(),
            )
    finally:
        server.drop("faulty")
        server.drop("whole")

    assert (report.verdict, report.verdict.exit_code) == (DrillVerdict.DIFFERENT, 1), report.to_text()
    assert "The database in use is damaged: " in report.stopped
    assert "lock 3 of table " in report.stopped and "long" in report.stopped
    assert "can no longer be read" in report.means and "nothing is known to be wrong" not in report.to_text()
    assert "A damaged page" in str(refusal.value)
    assert not list((state / "backups").glob("companion-*"))


def damage(server: Server, database: str, table: str, *, block: int) -> None:
    """Overwrite one page on disk. Nothing of that table may have been read since the server has its file."""
    path = STATE / "drill" / "data" / server.one(database, f"SELECT pg_relation_filepath('{table}')")
    with path.open("r+b") as file:
        file.seek(block * 8192)
        file.write(os.urandom(8192))
