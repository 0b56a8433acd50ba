"""The page *Right now* in words: how it stands, rates, processes, the hour without holes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from ops.access import StaffAccess
from ops.project.wiring.status import build_facts
from ops.status.frames import build_frame
from ops.status.held_questions import HeldQuestion, filter_by_sites
from ops.status.minutes import build_minutes
from ops.status.text import LEVELS, choose_level, format_held, format_processes, format_rate, format_texts

AT = datetime(2026, 3, 4, 10, 30, 5, tzinfo=UTC)
WELL = {"id": "p", "in_flight": 1, "sockets": 2, "age_s": 7_300, "draining": False, "beat_age_s": 0.4}


def figures(**facts: Any) -> dict[str, Any]:
    return {
        "in_flight": 1,
        "ceiling": 8,
        "ceiling_from": {"setting": 8, "operators": None, "preset": None, "by": "", "reason": ""},
        "waiting": 0,
        "oldest_wait_s": 0.0,
        "wait_ceiling_s": 45,
        "held_questions": 1,
        "counted_in_part": [],
        "last_hour": {"complete": 97, "paused": 2, "refused": 1, "stopped": 0},
        "first_word_ms": {"p50": None, "p95": None},
        "processes": [WELL],
        "persona": {"name": "Robin", "version": "0123"},
        "routing": {"preset": "normal"},
        "alerts": {"open": {}, "looked_through_s": 4.2, "unsent": 0, "ways": 1},
    } | facts


@pytest.mark.parametrize(
    ("facts", "stands"),
    [
        ({}, "free"),
        ({"waiting": 3, "oldest_wait_s": 4.0}, "full"),
        ({"waiting": 3, "oldest_wait_s": 23.0}, "long"),
        ({"processes": []}, "unavailable"),
        ({"processes": [WELL | {"beat_age_s": 11.0}]}, "unavailable"),
        ({"processes": [WELL | {"draining": True}], "waiting": 9, "oldest_wait_s": 40.0}, "unavailable"),
        ({"processes": [WELL | {"beat_age_s": 99.0}, WELL]}, "free"),
    ],
)
def test_how_it_stands_is_the_worst_that_is_so(facts: dict[str, Any], stands: str) -> None:
    assert choose_level(figures(**facts)) == stands


def test_a_line_that_is_counted_in_part_is_said_to_be_longer() -> None:
    shown = format_texts(figures(waiting=500, counted_in_part=["waiting"]), at=AT)
    assert (shown["waiting"], shown["held"]) == ("over 500", "1")


def test_each_level_has_a_sign_and_words_of_its_own() -> None:
    assert len({sign for sign, _ in LEVELS.values()}) == len({words for _, words in LEVELS.values()}) == 4


def test_one_is_said_as_one_and_several_as_several() -> None:
    assert format_texts(figures(waiting=1), at=AT)["waiting_says"] == "person waits for a place"
    assert format_texts(figures(waiting=2), at=AT)["waiting_says"] == "people wait for a place"
    assert format_texts(figures(), at=AT)["held_says"] == "question is held for a next message"


def test_what_is_not_known_is_a_dash_and_not_a_nought() -> None:
    said = format_texts(figures(), at=AT)

    assert (said["first_word"], said["oldest_wait"], said["at"]) == ("–", "–", "10:30:05 UTC")


@pytest.mark.parametrize(
    ("count", "of", "said"), [(0, 0, "none ended"), (0, 9, "0 of 100"), (1, 3, "33.3 of 100")]
)
def test_a_rate_is_said_in_hundreds(count: int, of: int, said: str) -> None:
    assert format_rate(count, of) == said


@pytest.mark.parametrize(
    ("come_from", "said"),
    [
        ({}, "8: the setting COMPANION_CEILING"),
        ({"operators": 8, "by": "Ines", "reason": "a group"}, "8: set by Ines (a group)"),
        ({"preset": 8, "setting": 32}, "8: the preset allows no more"),
    ],
)
def test_the_ceiling_says_where_it_comes_from(come_from: dict[str, Any], said: str) -> None:
    told = figures()
    told["ceiling_from"] = told["ceiling_from"] | come_from

    assert format_texts(told, at=AT)["ceiling_says"] == said


@pytest.mark.parametrize(
    ("looked_s", "says"),
    [
        (4.2, "alerts were last looked through 4 s ago"),
        (400.0, "AWAY: alerts were last looked through 6 min ago"),
        (None, "has never looked through the alerts: nothing goes out by e-mail or webhook"),
    ],
)
def test_a_worker_that_is_away_is_said_to_be(looked_s: float | None, says: str) -> None:
    assert (
        format_texts(
            figures(alerts={"open": {}, "looked_through_s": looked_s, "unsent": 0, "ways": 1}), at=AT
        )["worker"]
        == says
    )


@pytest.mark.parametrize(
    ("unsent", "ways", "says"),
    [
        (0, 2, ""),
        (1, 2, "; CANNOT SEND: 1 alert has not been sent by every transport"),
        (3, 2, "; CANNOT SEND: 3 alerts have not been sent by every transport"),
        (0, 0, "; alerts stand on these pages alone: neither ALERT_EMAIL nor ALERT_WEBHOOK_URL is set"),
    ],
)
def test_that_alerts_cannot_go_out_is_said(unsent: int, ways: int, says: str) -> None:
    alerts = {"open": {}, "looked_through_s": 4.2, "unsent": unsent, "ways": ways}
    assert (
        format_texts(figures(alerts=alerts), at=AT)["worker"]
        == f"alerts were last looked through 4 s ago{says}"
    )


def test_a_process_that_is_not_well_is_marked_in_words() -> None:
    told = format_processes(figures(processes=[WELL, WELL | {"beat_age_s": 30.0}, WELL | {"draining": True}]))

    assert [one["mark"] for one in told] == ["", "gone", "leaving"]
    assert told[0]["says"] == "1 reply, 2 open pages, runs for 2 h, last heard of 0 s ago"


def test_held_questions_are_those_of_the_sites_one_may_see_each_with_its_story() -> None:
    kept = [
        HeldQuestion(
            turn=n,
            site=n % 2,
            participant=7,
            person="Rosa",
            house="A",
            asked_at=AT,
            held_until=AT + timedelta(days=1),
        )
        for n in range(1, 5)
    ]
    supervisor = StaffAccess(user=1, sites=frozenset({1}), supervised=frozenset({1}))
    operator = StaffAccess(user=2, sites=frozenset({0, 1}), is_operator=True)

    told = format_held(filter_by_sites(kept, {1}), supervisor, turn_url="/ops/turns/0/")

    assert {one["person"] for one in told} == {"Rosa"}
    assert {one["person"] for one in format_held(kept, operator, turn_url="/ops/turns/0/")} == {"Person 7"}

    assert [one["href"] for one in told] == ["/ops/turns/1/", "/ops/turns/3/"]
    assert told[0]["says"] == "asked 04 Mar, 10:30, held until 05 Mar, 10:30 UTC"


def test_a_minute_in_which_nothing_moved_keeps_the_level_of_the_one_before() -> None:
    found: list[dict[str, Any]] = [
        {},
        {"levels": [5, 2, 3, 1], "states": {"complete": 4}},
        {},
        {"levels": [2, 0, 0, 0], "states": {"complete": 3, "paused": 1}},
        {},
    ]

    told = build_minutes([(AT, figures) for figures in found])

    assert [(one.speaking, one.waiting) for one in told] == [(0, 0), (5, 2), (3, 1), (3, 1), (0, 0)]


def test_a_frame_holds_only_what_changed_and_the_time_always() -> None:
    before = {"texts": {"at": "1"}, "level": "free", "held": []}

    assert build_frame(before, before | {"level": "full"}) == {
        "type": "now",
        "texts": {"at": "1"},
        "level": "full",
    }
    assert build_frame(None, before) == {"type": "now", **before}


def test_every_number_that_can_be_set_is_on_the_page_with_its_meaning() -> None:
    shown = {rule.name: rule for rule in build_facts().rules}
    numbers = [setting for setting in settings.DECLARED_SETTINGS if setting.low is not None]

    assert len(numbers) == 16
    assert all(shown[setting.name].value == getattr(settings, setting.name) for setting in numbers)
    assert all(rule.meaning for rule in shown.values())
