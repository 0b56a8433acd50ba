"""Whether the database that is drilled is the one in use: web processes beat in it, and go on doing so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.backups.connecting import in_use
from ops.backups.connecting.session import open_source
from ops.backups.reporting import records
from ops.backups.reporting.report import write
from ops.backups.reporting.verdict import DrillVerdict
from tests.database.backups.conftest import RunDrill
from tests.database.backups.drill_server import SETTING, Server

BEAT = "UPDATE companion_process SET beat_at = clock_timestamp()"


@pytest.fixture
def serving(server: Server) -> Iterator[str]:
    """A database with one web process."""
    server.create("serving", like="sample")
    server.load(
        "serving",
        "CREATE TABLE companion_process AS SELECT 1 AS id, clock_timestamp() AS beat_at;"
        "CREATE TABLE companion_turn AS SELECT 1 AS id",
    )
    yield "serving"
    server.drop("serving")


def find_doubt_about(server: Server, database: str, *, beats: bool) -> str:
    """What is doubted, while its web process beats or does not."""
    with open_source(server.address(database), setting=SETTING) as session:
        return in_use.find_doubt(session, sleep=lambda _s: server.load(database, BEAT) if beats else None)


def test_a_database_whose_web_process_goes_on_beating_is_in_use(server: Server, serving: str) -> None:
    assert find_doubt_about(server, serving, beats=True) == ""


def test_young_beats_that_do_not_go_on_are_those_of_the_origin_of_a_copy(
    server: Server, serving: str
) -> None:
    assert "no web process sends heartbeats to it now; the last one is of 20" in find_doubt_about(
        server, serving, beats=False
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "UPDATE companion_process SET beat_at = beat_at - interval '1 hour'",
            "no web process sends heartbeats to it now",
        ),
        ("DELETE FROM companion_process", "no web process ever sent a heartbeat to it"),
        ("DROP TABLE companion_process", "it has no table of heartbeats of web processes"),
    ],
)
def test_a_database_in_which_no_process_beats_is_doubted_at_once(
    server: Server, serving: str, change: str, said: str
) -> None:
    server.load(serving, change)

    assert said in find_doubt_about(server, serving, beats=True)


def test_a_drill_of_a_database_in_which_no_process_beats_does_not_count(
    server: Server, serving: str, drill: RunDrill, state: Path
) -> None:
    server.load(serving, "DELETE FROM companion_process")

    report = drill(source=server.address(serving))
    write(report, state / "drills")

    assert report.verdict == DrillVerdict.PROVED, report.to_text()
    assert "that this is the database in use: no web process" in report.not_proved[0]
    assert records.compute_due_at(state) is None
