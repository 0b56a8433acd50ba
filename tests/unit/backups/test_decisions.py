"""What a drill decides, without a server: direct or not, ours or not, which verdict, what was not proved."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ops.backups.archive.rotation import StoredBackup, select_surplus
from ops.backups.connecting.direct import ConnectionEvidence, find_fault
from ops.backups.reporting.not_proved import UNCOMPARED, RunSummary, list_not_proved
from ops.backups.reporting.verdict import DrillVerdict, Level, VerdictFacts, decide
from ops.backups.restoring.leftovers import FoundDatabase, reason_to_leave
from ops.backups.run.errors import ArchiveDamaged, ConnectionLost, CouldNotRun, Pooler, SourceChanged
from ops.backups.run.facts import Difference, Fingerprint, TableSum
from ops.backups.run.run_folder import Marker

DIRECT = ConnectionEvidence(
    handshake_pid=41,
    backend_pid=41,
    database_asked="live",
    database_got="live",
    token_sent="a",
    token_back="a",
    oid=7,
)
NAME = "restore_drill_20260101t000000_abcd1234"
OURS = FoundDatabase(
    name=NAME,
    marker=Marker(run="x", source="1/live", scratch=NAME),
    is_owned_by_us=True,
    is_locked=False,
)
USED = VerdictFacts(level="A", rows_of_people=3)
DIFFERENCE = Difference(kind="table", name="public.person", what="missing in the copy")


def test_a_direct_connection_is_direct() -> None:
    assert find_fault(DIRECT) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"backend_pid": 42}, "pooler"),
        ({"token_back": None}, "setting"),
        ({"token_back": "b"}, "setting"),
        ({"database_got": "other"}, "ignored"),
        ({"oid_expected": 8}, "just created"),
    ],
)
def test_any_one_sign_is_enough_to_call_it_not_direct(change: dict[str, object], word: str) -> None:
    assert word in (find_fault(replace(DIRECT, **change)) or "")  # type: ignore[arg-type]


def test_a_leftover_is_dropped_when_everything_agrees() -> None:
    assert reason_to_leave(OURS, source="1/live") is None


@pytest.mark.parametrize(
    ("change", "source"),
    [
        ({"name": "another"}, "1/live"),
        ({"is_owned_by_us": False}, "1/live"),
        ({"is_locked": True}, "1/live"),
        ({"marker": None}, "1/live"),
        ({"marker": Marker(run="x", source="1/live", scratch="another")}, "1/live"),
        ({}, "2/live"),
    ],
)
def test_a_leftover_is_left_when_one_thing_disagrees(change: dict[str, object], source: str) -> None:
    assert reason_to_leave(replace(OURS, **change), source=source)  # type: ignore[arg-type]


def test_a_database_without_a_marker_is_ours_only_when_a_dead_run_names_it() -> None:
    assert reason_to_leave(replace(OURS, marker=None, is_listed_by_a_dead_run=True), source="1/live") is None
    living = replace(OURS, marker=None, is_listed_by_a_dead_run=True, is_locked=True)
    assert reason_to_leave(living, source="1/live")


@pytest.mark.parametrize("text", [None, "", "{}", "[]", '{"kind": "another"}', '{"run": 1'])
def test_a_comment_that_is_no_marker_is_none(text: str | None) -> None:
    assert Marker.parse(text) is None


def test_a_marker_reads_back() -> None:
    marker = Marker(run="x", source="1/live", scratch=NAME)

    assert Marker.parse(marker.to_json()) == marker


@pytest.mark.parametrize(
    ("facts", "verdict", "code"),
    [
        (USED, DrillVerdict.PROVED, 0),
        (replace(USED, level="B"), DrillVerdict.PROVED, 0),
        (replace(USED, level="C"), DrillVerdict.PROCEDURE_ONLY, 0),
        (replace(USED, rows_of_people=0), DrillVerdict.PROCEDURE_ONLY, 0),
        (replace(USED, differences=[DIFFERENCE]), DrillVerdict.DIFFERENT, 1),
        (replace(USED, rows_of_people=0, differences=[DIFFERENCE]), DrillVerdict.DIFFERENT, 1),
        (replace(USED, stopped=ArchiveDamaged("x")), DrillVerdict.DIFFERENT, 1),
        (replace(USED, stopped=CouldNotRun("x")), DrillVerdict.COULD_NOT_RUN, 2),
        (replace(USED, stopped=Pooler("x")), DrillVerdict.COULD_NOT_RUN, 2),
        (replace(USED, stopped=ConnectionLost("x")), DrillVerdict.COULD_NOT_RUN, 2),
        (replace(USED, stopped=SourceChanged("x")), DrillVerdict.INCONCLUSIVE, 3),
        (replace(USED, differences=[DIFFERENCE], changed_meanwhile=True), DrillVerdict.INCONCLUSIVE, 3),
        (replace(USED, changed_meanwhile=True), DrillVerdict.PROVED, 0),
        (replace(USED, left_behind=["database x"]), DrillVerdict.LEFT_SOMETHING_BEHIND, 4),
        (replace(USED, stopped=CouldNotRun("x"), left_behind=["x"]), DrillVerdict.LEFT_SOMETHING_BEHIND, 4),
        (replace(USED, differences=[DIFFERENCE], left_behind=["x"]), DrillVerdict.DIFFERENT, 1),
    ],
)
def test_a_verdict_and_its_exit_code(facts: VerdictFacts, verdict: DrillVerdict, code: int) -> None:
    assert decide(facts) == verdict
    assert decide(facts).exit_code == code


@pytest.mark.parametrize("level", ["A", "B", "C"])
@pytest.mark.parametrize("verdict", DrillVerdict)
def test_a_verdict_says_what_it_means_and_a_bad_one_what_is_safe_and_what_to_do(
    verdict: DrillVerdict, level: Level
) -> None:
    means = verdict.explain(level)
    assert means.endswith(".")
    if verdict.exit_code:
        assert any(word in means for word in ("was only read", "was not changed", "may hold a copy"))
        assert any(word in means for word in ("un it again", "run the drill again", "restore-drill.md"))


def test_a_file_alone_and_a_database_without_conversations_are_not_told_in_the_same_words() -> None:
    alone, unused = DrillVerdict.PROCEDURE_ONLY.explain("C"), DrillVerdict.PROCEDURE_ONLY.explain("A")

    assert "without a manifest" in alone and "conversation" not in alone
    assert "no conversation yet" in unused and "manifest" not in unused


def make_fingerprint(rows: int = 3, **uncompared: int) -> Fingerprint:
    return Fingerprint(
        tables={
            "public.person": TableSum(rows=rows, buckets={}),
            "public.empty": TableSum(rows=0, buckets={}),
        },
        catalogue={},
        ledger=(),
        sequences={},
        uncompared=uncompared,
    )


WHOLE = RunSummary(
    level="A", where="private server", no_owner=False, source=make_fingerprint(), bytes=5_000_000_000
)


def test_what_is_never_proved_is_always_said() -> None:
    said = " ".join(list_not_proved(WHOLE))

    for word in ("roles", "media", "point-in-time", "kept elsewhere", "secrets", "start on the copy"):
        assert word in said


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"level": "A"}, "last night's backup"),
        ({"level": "B"}, "the key which signs backups"),
        ({"level": "B", "is_signed": False}, "trusted without a signature"),
        ({"level": "B"}, "it is stored unencrypted"),
        ({"level": "B", "is_encrypted": True}, "the identity which opens it is kept anywhere else"),
        ({"level": "C"}, "equals anything"),
        ({"no_owner": True}, "owners and grants"),
        ({"where": "same server"}, "server of its own"),
        ({"where": "private server"}, "machine you would really use"),
        ({"bytes": 4_000_000}, "4 MB"),
        ({"compared": False}, "anything at all"),
        ({"in_use_doubt": "it is a clone"}, "that this is the database in use: it is a clone"),
        ({"age_days": 40}, "this backup, which was 40 days old"),
        ({"age_days": 1}, "1 day old"),
        ({}, "1 tables without a row: public.empty"),
        *[({"source": make_fingerprint(**{name: 2})}, f"2 {name}") for name in UNCOMPARED],
    ],
)
def test_what_else_was_not_proved_is_computed(change: dict[str, object], word: str) -> None:
    assert word in " ".join(list_not_proved(replace(WHOLE, **change)))  # type: ignore[arg-type]


def test_a_run_that_stopped_before_it_compared_does_not_sound_as_if_it_had_proved_the_rest() -> None:
    said = " ".join(list_not_proved(replace(WHOLE, compared=False)))

    assert "without a row" not in said and "last night's backup" not in said


def test_a_target_of_ones_own_is_not_said_to_be_unproved() -> None:
    said = " ".join(list_not_proved(replace(WHOLE, where="target")))

    assert "server of its own" not in said and "machine you would really use" not in said


def make_stored(day: int, *, source: str = "1/live", year: int = 2026) -> StoredBackup:
    """A backup of one day."""
    made_at = datetime(year, 3, day, tzinfo=UTC)
    return StoredBackup(name=f"companion-{made_at:%Y%m%dT%H%M%SZ}", made_at=made_at, source=source)


def test_rotation_takes_the_oldest_of_the_same_source_by_what_the_manifests_say() -> None:
    # The names say otherwise: the manifest decides.
    there = [
        replace(make_stored(3), made_at=make_stored(1).made_at),
        replace(make_stored(1), made_at=make_stored(3).made_at),
        make_stored(4),
    ]

    assert select_surplus(there, just_made=make_stored(4), keep=2) == [make_stored(3).name]
    assert select_surplus(there, just_made=make_stored(4), keep=1) == [
        make_stored(3).name,
        make_stored(1).name,
    ]
    assert select_surplus(there, just_made=make_stored(4), keep=0) == []
    assert select_surplus(there, just_made=make_stored(4), keep=9) == []


def test_rotation_never_takes_the_one_just_made_nor_another_sources_nor_one_of_the_future() -> None:
    there = [
        make_stored(4),
        make_stored(2),
        make_stored(1, source="2/live"),
        make_stored(1, source="1/other"),
        make_stored(1, year=2099),
        make_stored(2, year=2099),
    ]

    assert select_surplus(there, just_made=make_stored(4), keep=1) == [make_stored(2).name]
    assert select_surplus(there, just_made=make_stored(4), keep=2) == []
