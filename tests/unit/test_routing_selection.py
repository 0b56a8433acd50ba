"""Which selection wins, when it ends, and what speaks against it (R1, R5 to R7, R9, R10)."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing import selection
from routing.errors import SelectionInvalid
from routing.lanes import Routing, parse
from routing.selection import COMPILED_IN, Selection
from tests.chains import lane_text

NOW = datetime(2026, 5, 4, 2, 0, tzinfo=UTC)
LANES = [("one", "a"), ("two", "b"), ("three", "a")]
ROUTING: Routing = parse(
    "".join(lane_text(name, failure_domain=domain) for name, domain in LANES)
    + """
[presets]
normal = { chain = ["one", "two"] }
pin_two = { chain = ["two"] }
twins = { chain = ["one", "three"] }
""",
    source="a test",
)


def document(**changes: Any) -> dict[str, Any]:
    facts = {
        "version": 7,
        "preset": "pin_two",
        "by": "Ines",
        "reason": "one is slow",
        "at": "2026-05-04T02:00:00+00:00",
        "expires_at": "2026-05-04T06:00:00+00:00",
    }
    return facts | changes


def chosen(**changes: Any) -> Selection:
    return selection.read(document(**changes), ROUTING)


def test_what_is_written_is_read_back_from_bytes_and_from_a_row() -> None:
    made = chosen()
    written = selection.to_document(made)
    assert selection.read(written, ROUTING) == made
    assert selection.read(json.dumps(written).encode(), ROUTING) == made


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"version": 0}, "version"),
        ({"version": "7"}, "version"),
        ({"version": True}, "version"),
        ({"preset": "drop_everything"}, "preset"),
        ({"preset": "one,two"}, "preset"),
        ({"by": " "}, "by"),
        ({"reason": ""}, "reason"),
        ({"reason": "x" * 201}, "reason"),
        ({"at": "yesterday"}, "at"),
        ({"at": "2026-05-04T02:00:00"}, "at"),
        ({"expires_at": None}, "expires_at"),
        ({"expires_at": "2026-05-04T01:00:00+00:00"}, "expires_at"),
        ({"expires_at": "2026-06-04T02:00:00+00:00"}, "expires_at"),
        ({"preset": "normal"}, "expires_at"),
        ({"chain": ["one"]}, "chain"),
    ],
)
def test_an_invalid_document_names_its_key_and_the_mend(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(SelectionInvalid, match=rf"^{key}: .+\.$"):
        chosen(**changes)


@pytest.mark.parametrize("key", ["version", "preset", "by", "reason", "at", "expires_at"])
def test_a_document_without_one_of_its_keys_is_invalid(key: str) -> None:
    facts = document()
    del facts[key]
    with pytest.raises(SelectionInvalid, match=f"{key}: is missing"):
        selection.read(facts, ROUTING)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_invalid_and_raise_no_other_error(data: bytes) -> None:
    with pytest.raises(SelectionInvalid):
        selection.read(data, ROUTING)


def test_a_message_never_repeats_what_it_could_not_read() -> None:
    with pytest.raises(SelectionInvalid) as refused:
        chosen(preset="a secret in the wrong place", version="another")
    assert "secret" not in str(refused.value) and "another" not in str(refused.value)


def test_the_highest_version_wins_in_whatever_order_they_are_read() -> None:
    read = [chosen(version=version) for version in (3, 9, 4)]
    for order in itertools.permutations(read):
        current = COMPILED_IN
        for candidate in order:
            current = selection.pick_newest(current, candidate)
        assert current.version == 9


def test_an_equal_version_is_never_applied() -> None:
    first, second = chosen(reason="first"), chosen(reason="second")
    assert selection.pick_newest(first, second) is first


def test_a_selection_whose_time_is_up_means_normal_under_its_own_version() -> None:
    made = chosen()
    assert selection.effective_preset(made, NOW + timedelta(hours=4) - timedelta(seconds=1)) == "pin_two"
    assert selection.effective_preset(made, NOW + timedelta(hours=4)) == "normal"
    assert selection.pick_newest(made, COMPILED_IN) is made


def test_anything_but_normal_lasts_four_hours_unless_said_otherwise() -> None:
    assert selection.expiry_of("normal", at=NOW) is None
    assert selection.expiry_of("pin_two", at=NOW) == NOW + timedelta(hours=4)
    assert selection.expiry_of("pin_two", at=NOW, lasts=timedelta(hours=1)) == NOW + timedelta(hours=1)


def test_the_same_document_has_the_same_fingerprint_and_another_has_not() -> None:
    assert selection.fingerprint_document(document()) == selection.fingerprint_document(
        dict(reversed(document().items()))
    )
    assert selection.fingerprint_document(document()) != selection.fingerprint_document(document(version=8))
    assert selection.fingerprint_document(b"\xff\x00") != selection.fingerprint_document(b"\xff")


def against(preset: str, **facts: Any) -> list[tuple[str, str | None, bool]]:
    answered = {"one": NOW, "two": NOW, "three": NOW} | facts.pop("answered", {})
    found = selection.find_concerns(ROUTING, preset, last_answered=answered, now=NOW, **facts)
    return [(one.kind, one.lane, one.asks_twice) for one in found]


def test_nothing_speaks_against_a_chain_that_works() -> None:
    assert against("normal") == []


@pytest.mark.parametrize("answered", [None, NOW - timedelta(hours=24)])
def test_a_head_that_has_not_answered_lately_asks_for_a_second_yes(answered: datetime | None) -> None:
    assert ("head_not_lately", "one", True) in against("normal", answered={"one": answered})
    assert against("normal", answered={"two": answered}) == []


def test_a_chain_that_goes_down_with_one_failure_domain_asks_for_a_second_yes() -> None:
    assert against("twins") == [("one_failure_domain", None, True)]


def test_a_lane_that_failed_its_last_drill_asks_for_a_second_yes() -> None:
    assert against("normal", failed_drill={"two"}) == [("failed_drill", "two", True)]


def test_a_chain_of_one_lane_is_said_but_needs_no_second_yes() -> None:
    assert against("pin_two") == [("no_fallback", "two", False)]
