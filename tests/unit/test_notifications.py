"""Notifications between processes: a closed set, readable by the release before, and never too long for PostgreSQL."""

import json
import uuid

import pytest

from companion.notifications import (
    BreakersChanged,
    KeptChanged,
    Notification,
    SelectionChanged,
    TurnsChanged,
    VisitsEnded,
    VisitsLocked,
    notify_parameters,
    parse_notification,
    split_control,
    split_flags,
    split_turns,
)

ME = uuid.UUID(int=7)
PAYLOAD_LIMIT_BYTES = 8_000


def turns_changed(turns: int) -> TurnsChanged:
    ids = range(2**62, 2**62 + turns)
    return TurnsChanged(
        by=ME,
        changed=tuple((turn, turn) for turn in ids),
        ended=(),
        admitted=tuple((turn, turn, ME, 2**31 - 1, "a" * 40) for turn in ids),
    )


@pytest.mark.parametrize(
    "notification",
    [
        turns_changed(2),
        BreakersChanged(by=ME, breakers=True),
        KeptChanged(by=ME, kept=(1, 2)),
        VisitsEnded(visits=(ME,), reason="finished"),
        VisitsLocked(locked=(ME,)),
        SelectionChanged(routing=5),
    ],
    ids=lambda notification: type(notification).__name__,
)
def test_every_kind_is_read_back_as_itself(notification: Notification) -> None:
    _, payload = notify_parameters(notification)

    assert parse_notification(payload) == notification


@pytest.mark.parametrize(
    ("payload", "read"),
    [
        (
            {"by": str(ME), "changed": [[1, 2]], "ended": [1], "admitted": [[3, 4, str(ME), 0, "primary"]]},
            TurnsChanged(by=ME, changed=((1, 2),), ended=(1,), admitted=((3, 4, ME, 0, "primary"),)),
        ),
        ({"by": str(ME), "breakers": True}, BreakersChanged(by=ME, breakers=True)),
        ({"by": str(ME), "kept": [9]}, KeptChanged(by=ME, kept=(9,))),
        ({"visits": [str(ME)]}, VisitsEnded(visits=(ME,))),
        ({"routing": 5, "later": "key"}, SelectionChanged(routing=5)),
    ],
)
def test_the_payload_of_another_release_is_read(payload: dict[str, object], read: Notification) -> None:
    assert parse_notification(json.dumps(payload)) == read


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "no json",
        "[]",
        "7",
        "{}",
        '{"unknown": 1}',
        '{"visits": ["x"]}',
        '{"routing": "9"}',
        '{"routing": null}',
    ],
)
def test_a_payload_of_no_known_kind_is_ignored(payload: str) -> None:
    assert parse_notification(payload) is None


def test_a_part_of_many_turns_fits_in_one_payload_and_no_turn_is_left_out() -> None:
    whole = turns_changed(95)

    parts = list(split_turns(whole))

    assert all(len(notify_parameters(part)[1].encode()) < PAYLOAD_LIMIT_BYTES for part in parts)
    assert tuple(turn for part in parts for turn in part.changed) == whole.changed
    assert tuple(row for part in parts for row in part.admitted) == whole.admitted


def test_a_part_of_many_flags_or_conversations_fits_in_one_payload_and_none_is_left_out() -> None:
    ids = range(2**62, 2**62 + 1_000)
    flags = list(split_flags([(flag, flag) for flag in ids]))
    control = list(split_control(ME, ids))
    payloads = [*map(notify_parameters, flags), *map(notify_parameters, control)]
    assert all(len(payload.encode()) < PAYLOAD_LIMIT_BYTES for _, payload in payloads)
    assert [flag for part in flags for flag, _ in part.flags] == list(ids)
    assert [conversation for part in control for conversation in part.control] == list(ids)
