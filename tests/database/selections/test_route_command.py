"""`manage.py route`: shows, selects, reverts, in words and as JSON; a tired operator cannot break anything (R2, R3)."""

import json
import os
import pwd
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.test import override_settings
from django.utils import timezone

from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.results import store_answers
from ops.models import AuditEntry
from ops.project.wiring.routing import build_routing
from ops.text import format_age, parse_length
from routing.lanes import NORMAL
from tests.people import in_database
from tests.selections import forget_lane_answers, insert, newest, route, select

WHO = ("--by", "Ines", "--reason", "The first lane is slow")


@pytest.fixture(autouse=True)
def _second_lane_answers() -> None:
    forget_lane_answers()
    answer = LaneAnswer(
        lane="rehearsal_second",
        at=timezone.now(),
        ok=True,
        failure="",
        first_word_ms=90,
        words=5,
        how="drill",
    )
    in_database(lambda: store_answers([answer]))


def test_it_selects_says_until_when_and_goes_back() -> None:
    said = route("select", "pin_second", *WHO, "--for", "90m")
    chosen = newest()
    assert (chosen.preset, chosen.by, chosen.reason) == ("pin_second", "Ines", "The first lane is slow")
    assert chosen.expires_at == chosen.at + timedelta(minutes=90)
    assert f"{chosen.version}  " in said
    assert "pin_second, selected by Ines, until " in said

    assert "normal, selected by Ines" in route("revert", "--by", "Ines")
    assert newest().preset == NORMAL
    assert "Nothing was changed." in route("revert", "--by", "Ines")


def test_the_audit_record_names_the_account_that_it_was_typed_in_as_well() -> None:
    account = pwd.getpwuid(os.getuid()).pw_name
    route("select", "pin_second", *WHO)
    route("revert", "--by", "Ines")
    last, before = in_database(lambda: list(AuditEntry.objects.order_by("-id")[:2]))
    version = newest().version
    assert before.note == f"version {version - 1}: pin_second, command, account {account}"
    assert (last.who, last.note) == ("Ines", f"version {version}: normal, command, account {account}")


def test_it_shows_what_is_in_force_each_lane_and_each_preset() -> None:
    select("drop_first", lasts=timedelta(hours=2))
    said = route("show")
    assert f"In force: drop_first (version {newest().version})" in said
    assert "selected by Ines at " in said
    assert re.search(r"until .* UTC: (2 h|1 h 59 min 59 s) more; then normal by itself", said)
    assert "1. rehearsal_second   is called; last answered: 0 seconds ago" in said
    assert "rehearsal_local    is called; last answered: not in the last day" in said
    assert "local_only     rehearsal_local; at most 8 turns at once, replies are marked as reduced" in said


def test_what_is_over_and_what_this_release_cannot_use_is_said() -> None:
    insert("pin_second", at=timezone.now() - timedelta(hours=2))
    assert "pin_second was over at " in route("show")
    insert("of_the_next_release")
    assert "NOT IN FORCE: version" in route("show")


def test_programs_read_all_of_it_as_json() -> None:
    chosen = json.loads(route("select", "pin_second", *WHO, "--json"))
    assert chosen["version"] == newest().version
    shown = json.loads(route("show", "--json"))
    assert (shown["preset"], shown["version"], shown["by"]) == ("pin_second", chosen["version"], "Ines")
    assert shown["lanes"]["rehearsal_second"]["drill_ok"] is True
    assert shown["presets"]["local_only"] == {
        "chain": ["rehearsal_local"],
        "marking": "reduced",
        "ceiling": 8,
    }
    history = json.loads(route("history", "--json"))["selections"]
    assert history[0] == chosen
    back = json.loads(route("revert", "--by", "Ines", "--json"))
    assert back["preset"] == NORMAL
    assert json.loads(route("revert", "--by", "Ines", "--json")) == back


def test_with_a_routing_file_that_is_wrong_one_can_still_go_back_and_is_told_so(
    tmp_path: Path,
) -> None:
    select("pin_second")
    (tmp_path / "routing.toml").write_text("[lane.x]")
    build_routing.cache_clear()
    with override_settings(COMPANION_ROUTING=str(tmp_path / "routing.toml")):
        with pytest.raises(CommandError, match=r"`manage.py route revert` still goes back"):
            route("show")
        assert "normal, selected by Ines" in route("revert", "--by", "Ines")
    build_routing.cache_clear()
    assert newest().preset == NORMAL


def test_history_reads_from_the_oldest_to_the_newest() -> None:
    first, second = select("pin_second"), select("drop_first")
    lines = route("history").splitlines()
    assert lines[-2].strip().startswith(f"{first.version}  ")
    assert lines[-1].strip().startswith(f"{second.version}  ")


def test_where_something_speaks_against_it_nothing_is_changed_and_the_exit_code_says_so() -> None:
    before = newest()
    with pytest.raises(CommandError, match="has not answered in the last day") as refused:
        route("select", "local_only", *WHO)
    assert refused.value.returncode == 3
    assert newest() == before
    route("select", "local_only", *WHO, "--yes")
    assert newest().preset == "local_only"


@pytest.mark.parametrize(
    "arguments",
    [
        ("select", "mine", *WHO),
        ("select", "pin_second", "--by", "Ines"),
        ("select", "pin_second", "--reason", "x"),
        ("select", "pin_second", "--by", " ", "--reason", "x"),
        ("select", "pin_second", "--by", "Ines", "--reason", ""),
        ("select", "pin_second", *WHO, "--for", "soon"),
        ("select", "pin_second", *WHO, "--for", "9d"),
        ("select", "normal", *WHO, "--for", "1h"),
        ("revert",),
        ("measure", "mine", *WHO),
        ("go",),
        (),
    ],
)
def test_nonsense_changes_nothing(arguments: tuple[str, ...]) -> None:
    before = newest()
    with pytest.raises(CommandError) as refused:
        route(*arguments)
    assert refused.value.returncode == 1
    assert newest() == before


def test_a_reason_cannot_steer_the_terminal() -> None:
    # A row of a release before; now such a reason is refused.
    insert("pin_second", by="In\x1bes", reason="red \x1b[31m and\rback \u202e")
    for said in (route("show"), route("history")):
        assert not any(letter in said for letter in "\x1b\r\u202e")


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("45m", timedelta(minutes=45)),
        ("4h", timedelta(hours=4)),
        ("1h30m", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
        (" 90S ", timedelta(seconds=90)),
    ],
)
def test_a_length_is_read_as_people_write_it(text: str, length: timedelta) -> None:
    assert parse_length(text) == length


@pytest.mark.parametrize("text", ["", "4", "h", "4 h", "-4h", "4h5", "1.5h", "0h", "٤h", "9" * 400 + "h"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it as"):
        parse_length(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds ago"),
        (-3, "0 seconds ago"),
        (1, "1 second ago"),
        (119, "119 seconds ago"),
        (120, "2 minutes ago"),
        (7200, "2 hours ago"),
        (172_800, "2 days ago"),
    ],
)
def test_how_long_ago_is_said_in_words(seconds: int, words: str) -> None:
    now = datetime.fromisoformat("2026-11-29T12:00:00+00:00")
    assert format_age(now - timedelta(seconds=seconds), now) == words
    assert format_age(None, now) == "not in the last day"
