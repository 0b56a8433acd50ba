"""What a preflight says of a database, of settings, of lanes and of what runs, without any of them."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from django.core.checks import CheckMessage, Error, Info, Warning

from ops.preflight.database import find_refusals, judge_database
from ops.preflight.database_facts import ConnectionFacts, DatabaseFacts
from ops.preflight.pooling import Pooling
from ops.preflight.report import SectionResult, build_document, format_section, format_verdict
from ops.preflight.running import judge_running
from ops.preflight.servers import judge_lane_keys, judge_lane_servers
from ops.preflight.web_settings import WebSettings, judge_web_settings
from routing import lanes

DATABASE = DatabaseFacts(
    role="companion_service",
    database="companion",
    is_read_only=False,
    is_standby=False,
    encoding="UTF8",
    letters="C.UTF-8",
    is_collation_outdated=False,
    time_zone="UTC",
    finds_tables=True,
    has_tables=True,
    is_superuser=False,
    owns_tables=False,
    tables_without_rights=[],
    session_limits=[],
    unsafe_settings=[],
    connections_allowed=97,
    connections_used=10,
    clock=0.0,
)
FACTS = ConnectionFacts(version=180006, pooling=Pooling.DIRECT, database=DATABASE)
WEB = WebSettings(
    origins=["https://talk.example.org"],
    hosts=["talk.example.org", "127.0.0.1"],
    secure_cookies=True,
    behind_proxy=True,
    ops_token="a token of many characters",
    alert_transports=1,
)
TWO_LANES = """
[lanes.first]
adapter = "openai"
base_url = "https://one.example.org/v1"
model = "m"
api_key_env = "ONE_KEY"
failure_domain = "one"
region = "here"
context_tokens = 32000
max_in_flight = 5
connect_ms = 3000
first_word_ms = 8000
idle_ms = 10000

[lanes.second]
adapter = "openai"
base_url = "https://two.example.org/v1"
model = "m"
api_key_env = "TWO_KEY"
failure_domain = "two"
region = "here"
context_tokens = 32000
max_in_flight = 5
connect_ms = 3000
first_word_ms = 8000
idle_ms = 10000

[presets.normal]
chain = ["first", "second"]
"""
ROUTING = lanes.parse(TWO_LANES, source="routing.toml")
FIGURES: dict[str, Any] = {
    "processes": [{"beat_age_s": 0.5, "persona_version": "abc", "conditions": []}],
    "alerts": {"looked_through_s": 4.0},
}


def get_ids(messages: Iterable[CheckMessage]) -> list[str]:
    return [str(message.id).removeprefix("companion.") for message in messages]


def test_nothing_is_said_of_what_is_in_order() -> None:
    assert get_ids(judge_database(FACTS, connections=27)) == []
    assert get_ids(judge_web_settings(WEB)) == []
    assert get_ids(judge_running(FIGURES, persona_versions={"abc"})) == []
    assert get_ids(judge_lane_keys(ROUTING, {"ONE_KEY": "k", "TWO_KEY": "k"})) == []
    assert get_ids(judge_lane_servers(ROUTING, {})) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encoding": "SQL_ASCII"}, "E022"),
        ({"is_standby": True, "is_read_only": True}, "E023"),
        ({"is_read_only": True}, "E023"),
        ({"finds_tables": False}, "E025"),
        ({"tables_without_rights": ["companion_turn"]}, "E026"),
        ({"letters": "C"}, "W021"),
        ({"is_collation_outdated": True}, "W022"),
        ({"session_limits": ["idle_session_timeout"]}, "W023"),
        ({"unsafe_settings": ["synchronous_commit"]}, "W024"),
        ({"owns_tables": True}, "W026"),
        ({"is_superuser": True}, "W026"),
        ({"connections_used": 80}, "W027"),
        ({"time_zone": "Europe/Berlin"}, "I020"),
    ],
)
def test_each_fault_of_a_database_has_its_number(change: dict[str, Any], said: str) -> None:
    facts = replace(FACTS, database=replace(DATABASE, **change))

    assert get_ids(judge_database(facts, connections=27)) == [said]


def test_a_database_without_tables_is_no_fault_of_the_search_path() -> None:
    empty = replace(DATABASE, finds_tables=False, has_tables=False)

    assert get_ids(find_refusals(replace(FACTS, database=empty))) == []


def test_a_server_of_one_major_too_old_is_refused_by_its_number() -> None:
    [refusal] = find_refusals(ConnectionFacts(version=140012, pooling=Pooling.DIRECT, database=None))

    assert (refusal.id, "PostgreSQL 14" in refusal.msg) == ("companion.E021", True)


def test_a_pooler_is_refused_in_transaction_mode_and_told_of_in_session_mode() -> None:
    assert get_ids(find_refusals(replace(FACTS, pooling=Pooling.TRANSACTION))) == ["E024"]
    session = replace(FACTS, pooling=Pooling.SESSION)
    assert get_ids(find_refusals(session)) == []
    assert get_ids(judge_database(session, connections=27)) == ["W020"]


@pytest.mark.parametrize(("ahead_s", "word"), [(600.0, "ahead of"), (-600.0, "behind")])
def test_a_clock_ten_minutes_off_is_told_with_its_direction(ahead_s: float, word: str) -> None:
    [said] = judge_database(replace(FACTS, clock_ahead_s=ahead_s), connections=27)

    assert said.id == "companion.W025"
    assert f"600 s {word}" in said.msg


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"secure_cookies": False}, ["E010"]),
        ({"origins": ["http://talk.example.org"]}, ["E011"]),
        ({"origins": ["http://127.0.0.1:8000", "https://talk.example.org"]}, []),
        ({"hosts": ["other.example.org"]}, ["E012"]),
        ({"hosts": [".example.org"]}, []),
        ({"hosts": ["*"]}, ["W010"]),
        ({"origins": ["http://localhost:8000"], "hosts": ["localhost"]}, ["W011"]),
        ({"behind_proxy": False}, ["W012"]),
        ({"ops_token": "short"}, ["W013"]),
        ({"ops_token": ""}, []),
        ({"alert_transports": 0}, ["W014"]),
    ],
)
def test_settings_that_do_not_fit_together_have_a_number_each(
    change: dict[str, Any], said: list[str]
) -> None:
    assert get_ids(judge_web_settings(replace(WEB, **change))) == said


@pytest.mark.parametrize(
    ("keys", "said"),
    [({"ONE_KEY": "k"}, ["W040"]), ({"ONE_KEY": " ", "TWO_KEY": ""}, ["E040"])],
)
def test_a_missing_key_stops_a_start_only_where_no_lane_is_left(
    keys: dict[str, str], said: list[str]
) -> None:
    assert get_ids(judge_lane_keys(ROUTING, keys)) == said


def test_lanes_that_are_not_reached_are_told_with_server_and_reason() -> None:
    one = {"https://one.example.org/v1": "Connection refused"}
    [warning] = judge_lane_servers(ROUTING, one)
    both = judge_lane_servers(ROUTING, one | {"https://two.example.org/v1": "no answer within 5 s"})

    assert warning.id == "companion.W041"
    assert "first (one.example.org): Connection refused" in warning.msg
    assert get_ids(both) == ["E041"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"processes": []}, ["I050"]),
        ({"alerts": {"looked_through_s": 500.0}}, ["W050"]),
        ({"alerts": {"looked_through_s": None}}, ["W050"]),
        ({"processes": [{"beat_age_s": 0.5, "persona_version": "old", "conditions": []}]}, ["W051"]),
        (
            {
                "processes": [
                    {"beat_age_s": 1, "persona_version": "abc", "conditions": ["file_refused x", "new"]}
                ]
            },
            ["W052", "W052"],
        ),
    ],
)
def test_what_runs_is_compared_with_what_is_here(change: dict[str, Any], said: list[str]) -> None:
    assert get_ids(judge_running(FIGURES | change, persona_versions={"abc"})) == said


def test_the_verdict_counts_what_stops_and_what_warns() -> None:
    results = [
        SectionResult(name="Database", messages=[Error("Away.", hint="Start it.", id="companion.E020")]),
        SectionResult(name="Queue", messages=[Warning("Old.", id="companion.W043"), Info("So.", id="x.I1")]),
        SectionResult(name="Tables", skipped="The database was not reached."),
        SectionResult(name="Lanes"),
    ]

    assert format_verdict(results) == "1 fault stops a start here; 1 warning, and 1 not looked at."
    assert format_verdict(results[1:2]) == "Nothing stops a start here; 1 warning."
    assert list(format_section(results[0])) == ["Database: stops (companion.E020). Away.", "    Start it."]
    assert list(format_section(results[3])) == ["Lanes: in order."]
    document = json.loads(json.dumps(build_document(results)))
    assert (document["stops"], document["warns"]) == (1, 1)
    assert document["sections"][0]["messages"] == [
        {"id": "companion.E020", "level": "stops", "says": "Away.", "mend": "Start it."}
    ]
    assert document["sections"][2]["skipped"] == "The database was not reached."
