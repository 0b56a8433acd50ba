"""Every fault a copy can have is caught and named (D1); a faithful copy, however noisy its texts, is not accused."""

from collections.abc import Iterator

import pytest

from ops.backups.connecting.session import open_source
from ops.backups.programs import dump
from ops.backups.programs.dump import Archive
from ops.backups.programs.tools import find_tools, list_folders
from ops.backups.reading.snapshot import take_snapshot
from ops.backups.run.facts import Fingerprint
from ops.backups.run.run_folder import Marker, RunFolder
from tests.conftest import STATE
from tests.database.backups.drill_server import SETTING, Server
from tests.database.backups.mutations import MUTATIONS, Mutation

TOOLS = find_tools(18, list_folders(), server=False)


@pytest.fixture(scope="module")
def source(server: Server) -> Fingerprint:
    """What the source looks like."""
    return server.fingerprint_source("sample")


@pytest.fixture(scope="module")
def work() -> Iterator[RunFolder]:
    """A run's folder."""
    folder = RunFolder.create(STATE / "mutations", Marker(run="mutations", source="", scratch=""))
    yield folder
    folder.remove()


@pytest.fixture(scope="module")
def archive(server: Server, work: RunFolder) -> Archive:
    """A dump of the source."""
    address = server.address("sample")
    with open_source(address, setting=SETTING) as session:
        held = take_snapshot(session)
        into = work.path / "dump"
        with dump.start_dump(TOOLS, address, into, snapshot=held.name, jobs=2, folder=work) as dumping:
            assert dumping.wait(lambda: None) == 0, dumping.stderr_tail
    return dump.recognise_archive(into)


def restore(server: Server, archive: Archive, work: RunFolder, *, into: str) -> None:
    """A fresh copy."""
    server.drop(into)
    server.load("postgres", f"CREATE DATABASE {into} TEMPLATE template0")
    restoring = dump.start_restore(TOOLS, server.address(into), archive, jobs=2, no_owner=False, folder=work)
    with restoring:
        assert restoring.wait(lambda: None) == 0, restoring.stderr_tail


@pytest.fixture(scope="module")
def restored(server: Server, archive: Archive, work: RunFolder) -> Iterator[str]:
    """One restored copy that others are copied from."""
    restore(server, archive, work, into="restored")
    yield "restored"
    server.drop("restored")


def test_a_faithful_copy_has_no_difference_though_its_texts_are_printed_otherwise(
    server: Server, source: Fingerprint, restored: str
) -> None:
    differences, settled = server.differences(source, restored)

    assert differences == []
    # A check, a partial index, a view, a policy, a trigger's condition: written one way, printed another.
    assert settled >= 5


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_fault_is_caught_and_named(
    server: Server, source: Fingerprint, restored: str, mutation: Mutation
) -> None:
    server.create("mutated", like=restored)
    try:
        mutate(server, "mutated", mutation)
        differences, _settled = server.differences(source, "mutated")
    finally:
        server.drop("mutated")

    assert (mutation.kind, mutation.name) in {(found.kind, found.name) for found in differences}, differences


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_fault_in_a_fresh_restore_is_caught_and_named(
    server: Server, source: Fingerprint, archive: Archive, work: RunFolder, mutation: Mutation
) -> None:
    restore(server, archive, work, into="mutated")
    try:
        mutate(server, "mutated", mutation)
        differences, _settled = server.differences(source, "mutated")
    finally:
        server.drop("mutated")

    assert (mutation.kind, mutation.name) in {(found.kind, found.name) for found in differences}, differences


def test_a_content_fault_alone_is_the_only_difference(
    server: Server, source: Fingerprint, restored: str
) -> None:
    server.create("mutated", like=restored)
    try:
        server.load("mutated", "ALTER TABLE person DISABLE TRIGGER person_touch")
        server.load("mutated", "UPDATE person SET name = 'x' WHERE id IN (1, 2, 3)")
        server.load("mutated", "ALTER TABLE person ENABLE TRIGGER person_touch")
        differences, _settled = server.differences(source, "mutated")
    finally:
        server.drop("mutated")

    # It says how many keys, at least, and no value of any.
    assert [str(found) for found in differences] == [
        "table public.person: at least 3 keys with other content"
    ]


def mutate(server: Server, database: str, mutation: Mutation) -> None:
    """Apply it, with what a superuser may do to the catalogue itself."""
    with server.connected(database) as connection:
        connection.execute("SET allow_system_table_mods = on")
        for statement in mutation.sql.split("; "):
            connection.execute(statement.encode())
