"""The figures as Prometheus reads them."""

from datetime import UTC, datetime
from typing import Any

from ops.status.exposition import format_exposition

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
PROCESS: dict[str, Any] = {
    "id": "abc",
    "in_flight": 3,
    "sockets": 9,
    "beat_age_s": 0.4,
    "routing_version": 7,
    "documents_refused": 2,
}
FIGURES: dict[str, Any] = {
    "in_flight": 3,
    "ceiling": 8,
    "waiting": 2,
    "oldest_wait_s": 1.5,
    "wait_ceiling_s": 45,
    "held_questions": 1,
    "last_hour": {"complete": 40, "paused": 2},
    "paused_last_hour_by_reason": {"overloaded": 2},
    "attempts_last_hour_by_lane": {"primary": {"whole": 40, "overloaded": 8}},
    "first_word_ms": {"p50": 420, "p95": None},
    "processes": [
        PROCESS,
        PROCESS | {"id": "dead", "in_flight": 0, "sockets": 700, "beat_age_s": 31.0},
    ],
    "routing": {
        "version": 7,
        "preset": "drop_first",
        "scripted": True,
        "normal_weakness": "",
        "chain": [{"lane": "second", "state": "closed"}, {"lane": "local", "state": "open"}],
    },
    "usage": [
        {
            "day": "2026-11-29",
            "lane": "primary",
            "calls": 5,
            "calls_told": 4,
            "input_tokens": 900,
            "output_tokens": 80,
            "cost": 0.25,
            "currency": "USD",
            "replies": 4,
        },
        {
            "day": "2026-11-29",
            "lane": "local",
            "calls": 2,
            "calls_told": 0,
            "input_tokens": None,
            "output_tokens": None,
            "cost": None,
            "currency": None,
            "replies": 2,
        },
        {
            "day": "2026-11-28",
            "lane": "second",
            "calls": 7,
            "calls_told": 7,
            "input_tokens": 1,
            "output_tokens": 1,
            "cost": None,
            "currency": None,
            "replies": 7,
        },
    ],
    "alerts": {"open": {"quota": 2}, "looked_through_s": 3.5, "unsent": 4, "ways": 2},
    "flags": {
        "target_s": 60,
        "not_closed": [
            {"tier": "amber", "state": "open", "count": 1, "oldest_s": 700.0},
            {"tier": "red", "state": "accepted", "count": 2, "oldest_s": 300.0},
            {"tier": "red", "state": "open", "count": 1, "oldest_s": 8.5},
        ],
        "oldest_open_s": 700.0,
        "last_week": [
            {
                "site": "willow-house",
                "count": 9,
                "in_target": 8,
                "steps": {"accepted": {"p50_s": 12.0, "p95_s": 50.0, "worst_s": 80.0}},
            }
        ],
    },
    "drill": {"proved_at": "2026-11-29T11:00:00+00:00", "proved_as_of": "2026-11-29T02:00:00+00:00"},
}


def test_every_figure_has_its_help_and_its_type() -> None:
    lines = format_exposition(FIGURES, at=NOON).splitlines()

    assert "companion_turns_in_flight 3" in lines
    assert "companion_oldest_wait_seconds 1.5" in lines
    assert 'companion_turns_last_hour{state="paused"} 2' in lines
    assert 'companion_attempts_last_hour{lane="primary",ended="overloaded"} 8' in lines
    assert 'companion_process_sockets{process="abc"} 9' in lines
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {line.split("{")[0].split()[0] for line in lines if not line.startswith("#")} == named


def test_a_process_that_is_gone_is_in_no_sum() -> None:
    text = format_exposition(FIGURES, at=NOON)

    assert "dead" not in text
    assert "companion_processes 1\n" in text


def test_routing_breakers_alerts_and_the_last_proof_are_gauges_too() -> None:
    lines = format_exposition(FIGURES, at=NOON).splitlines()

    assert 'companion_routing_version{preset="drop_first"} 7' in lines
    assert 'companion_process_routing_version{process="abc"} 7' in lines
    assert 'companion_process_documents_refused{process="abc"} 2' in lines
    assert "companion_scripted_replies 1" in lines
    assert "companion_normal_has_fallback 1" in lines
    assert 'companion_lane_state{lane="local",state="open"} 1' in lines
    assert 'companion_alerts_open{kind="quota"} 2' in lines
    assert "companion_alerts_looked_through_seconds 3.5" in lines
    assert "companion_alerts_unsent 4" in lines
    assert "companion_alert_ways 2" in lines
    assert "companion_restore_proved_seconds 3600.0" in lines
    assert "companion_restore_proved_data_age_seconds 36000.0" in lines


def test_a_figure_that_is_not_known_is_left_out_rather_than_said_to_be_nought() -> None:
    text = format_exposition(FIGURES, at=NOON)

    assert 'companion_first_word_seconds{quantile="0.5"} 0.42' in text
    assert 'companion_first_word_seconds{quantile="0.95"' not in text


def test_a_label_cannot_break_out_of_its_quotes() -> None:
    odd = FIGURES | {"paused_last_hour_by_reason": {'a"b\\c\nd': 1}}

    assert r'companion_paused_last_hour{reason="a\"b\\c\nd"} 1' in format_exposition(odd, at=NOON)


def test_tokens_and_cost_of_today_are_there_by_lane_as_far_as_they_were_told() -> None:
    lines = format_exposition(FIGURES, at=NOON).splitlines()

    assert 'companion_input_tokens_today{lane="primary",currency="USD"} 900' in lines
    assert 'companion_cost_today{lane="primary",currency="USD"} 0.25' in lines
    assert 'companion_calls_today{lane="local",currency=""} 2' in lines
    assert not any(line.startswith("companion_output_tokens_today") and "local" in line for line in lines)
    assert not any('lane="second"' in line and "_today" in line for line in lines)


def test_the_age_of_flags_is_told_by_tier_for_those_that_no_person_has_accepted() -> None:
    lines = format_exposition(FIGURES, at=NOON).splitlines()

    assert [line for line in lines if line.startswith("companion_flag_oldest_open_seconds")] == [
        'companion_flag_oldest_open_seconds{tier="amber"} 700.0',
        'companion_flag_oldest_open_seconds{tier="red"} 8.5',
    ]
    assert 'companion_flag_seconds{site="willow-house",step="accepted",quantile="1"} 80.0' in lines
