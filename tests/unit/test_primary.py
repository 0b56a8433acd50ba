"""Of several servers the one that accepts writes is used, and never one whose timeline is over."""

from pathlib import Path

import psycopg
import pytest

from ops.project.addresses import follows_primary, parse_database
from ops.project.primary import NewestTimeline, PrimaryFinder, Timeline, split_servers

SEVERAL = "postgresql://u:p%40@one:5432,two:5433/x?target_session_attrs=read-write"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "timeline.json"


def timeline(number: int, system: str = "7") -> Timeline:
    return Timeline(system=system, number=number)


def test_an_address_of_several_servers_reaches_django_with_all_of_them() -> None:
    entry = parse_database("DATABASE_URL", SEVERAL)

    assert (entry["HOST"], entry["PORT"], entry["NAME"]) == ("one,two", "5432,5433", "x")
    assert (entry["USER"], entry["PASSWORD"]) == ("u", "p@")
    assert entry["OPTIONS"] == {"target_session_attrs": "read-write"}
    assert entry["ENGINE"] == parse_database("DATABASE_URL", "postgresql://u@one/x")["ENGINE"]


@pytest.mark.parametrize(
    ("url", "follows"),
    [
        (SEVERAL, True),
        ("postgresql://u@one/x?target_session_attrs=read-write", True),
        ("postgresql://u@/x", False),
    ],
)
def test_an_address_says_whether_it_follows_the_primary(url: str, follows: bool) -> None:
    assert follows_primary(url) is follows


def test_hosts_and_ports_are_paired_as_libpq_pairs_them() -> None:
    assert split_servers({"host": "one,two", "port": "1,2"}) == [
        {"host": "one", "port": "1"},
        {"host": "two", "port": "2"},
    ]
    assert split_servers({"host": "/a,/b", "port": 5432}) == [
        {"host": "/a", "port": "5432"},
        {"host": "/b", "port": "5432"},
    ]
    assert split_servers({"dbname": "x"}) == [{}]


def test_the_server_that_was_used_last_is_tried_first(file: Path) -> None:
    finder = PrimaryFinder(NewestTimeline(file))
    first, second = finder.order_servers(SEVERAL, {"connect_timeout": 2})
    finder.check(("7", 2), second)

    assert finder.order_servers(SEVERAL, {}) == [second, first]


def test_an_old_primary_is_refused_by_every_process_of_the_machine(file: Path) -> None:
    PrimaryFinder(NewestTimeline(file)).check(("7", 2), {"host": "two"})

    with pytest.raises(psycopg.OperationalError, match="timeline 1 is over"):
        PrimaryFinder(NewestTimeline(file)).check(("7", 1), {"host": "one"})


def test_a_later_timeline_and_another_cluster_are_followed(file: Path) -> None:
    newest = NewestTimeline(file)

    assert newest.accept(timeline(2))
    assert newest.accept(timeline(3))
    assert not newest.accept(timeline(2))
    # A backup that was restored is another cluster, and begins again.
    assert newest.accept(timeline(1, system="8"))
    assert NewestTimeline(file).accept(timeline(1, system="8"))


@pytest.mark.parametrize("text", ["", "[]", '{"system": "7"}', '{"system": "7", "timeline": "x"}'])
def test_a_file_that_cannot_be_read_refuses_nothing(file: Path, text: str) -> None:
    file.write_text(text)

    assert NewestTimeline(file).accept(timeline(1))


def test_a_process_that_cannot_keep_the_timeline_refuses_an_older_one_itself(tmp_path: Path) -> None:
    newest = NewestTimeline(tmp_path / "missing" / "timeline.json")

    assert newest.accept(timeline(2))
    assert not newest.accept(timeline(1))
