"""What a page may send, and what every other frame is answered with."""

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion import frames


def say(text: str) -> str:
    return json.dumps({"type": "say", "key": str(uuid.uuid4()), "text": text})


def test_a_message_keeps_every_character_it_was_written_with() -> None:
    text = "Shalom שלום 👩‍👩‍👧 \u2028 <b>bold</b> **bold** \u0085 end"
    frame = frames.parse_frame(say(text))
    assert isinstance(frame, frames.Say)
    assert frame.text == text


def test_half_an_emoji_and_a_nul_are_mended_and_the_rest_is_kept() -> None:
    key = uuid.uuid4()
    frame = frames.parse_frame(f'{{"type":"say","key":"{key}","text":"a\\u0000b \\ud83c c \\ud83c\\udf0d"}}')
    assert isinstance(frame, frames.Say)
    assert frame.text == "ab \ufffd c \U0001f30d"


def test_four_thousand_characters_are_a_message_and_one_more_is_too_long() -> None:
    assert isinstance(frames.parse_frame(say("🌍" * 4_000)), frames.Say)
    with pytest.raises(frames.FrameRefused, match="too_long"):
        frames.parse_frame(say("a" * 4_001))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\n\t",
        "\u0000",
        "\u200b",
        "\u2060",
        "\u2800",
        "\u3164",
        "\ufeff",
        "\u00ad",
        "\u115f\u1160\uffa0",
        "\u034f\u061c\u180e\u200d\ufe0f",
        "\U000e0041\U0001d159",
        " \u200b\n\u2800 ",
    ],
    ids=ascii,
)
def test_a_message_without_a_visible_character_is_empty(text: str) -> None:
    with pytest.raises(frames.FrameRefused, match="empty"):
        frames.parse_frame(say(text))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "hello",
        "[]",
        "null",
        "7",
        '{"type":"shout"}',
        '{"text":"no type"}',
        '{"type":"say","text":"no key"}',
        '{"type":"say","key":"not a uuid","text":"x"}',
        '{"type":"say","key":"6a1cf7a0-27d3-4b6c-9d2c-2d1c6b0f3a11"}',
        '{"type":"say","key":"6a1cf7a0-27d3-4b6c-9d2c-2d1c6b0f3a11","text":7}',
        '{"type":"stop","turn":"three"}',
        '{"type":"stop","turn":-1}',
        '{"type":"stop","turn":99999999999999999999}',
        '{"type":"catch_up","turn":1}',
        '{"type":"catch_up","turn":1,"after":-1}',
        '{"type":"catch_up","turn":1,"after":0,"entry":1}',
        '{"type":"catch_up","entry":-1}',
        '{"type":"ack","turn":1}',
        '{"type":"ack"}',
        "[" * 30_000,
    ],
)
def test_whatever_is_not_a_frame_is_refused_as_a_bad_frame(text: str | None) -> None:
    with pytest.raises(frames.FrameRefused, match="bad_frame"):
        frames.parse_frame(text)


@pytest.mark.parametrize("text", ["🙂", "\u200b.", "é", "e\u0301", "\u2801", "한", "👩\u200d🚀"], ids=ascii)
def test_a_message_with_one_visible_character_is_a_message(text: str) -> None:
    frame = frames.parse_frame(say(text))
    assert isinstance(frame, frames.Say)
    assert frame.text == text


@pytest.mark.parametrize("padding", ["x" * 65_536, "é" * 33_000])
def test_a_frame_of_more_than_64_kib_is_too_long(padding: str) -> None:
    with pytest.raises(frames.FrameRefused, match="too_long"):
        frames.parse_frame(f'{{"type":"say","text":"{padding}"}}')


def test_an_unknown_field_does_not_spoil_a_frame() -> None:
    assert isinstance(frames.parse_frame('{"type":"ping","later":1}'), frames.Ping)


@given(st.text())
def test_any_text_at_all_is_either_a_frame_or_refused(text: str) -> None:
    try:
        frames.parse_frame(text)
    except frames.FrameRefused as refusal:
        assert refusal.code in {"bad_frame", "too_long", "empty"}


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_mended_text_can_be_stored_and_is_not_mended_twice(text: str) -> None:
    mended = frames.clean_text(text)
    assert "\x00" not in mended
    mended.encode("utf-8")
    assert frames.clean_text(mended) == mended


@pytest.mark.parametrize(
    "text", ["x" * 65_537, "é" * 32_769, '{"type":"ping","padding":"%s"}' % ("x" * 65_536)]
)
def test_a_frame_of_more_bytes_than_the_protocol_allows_is_too_long_whatever_is_in_it(text: str) -> None:
    with pytest.raises(frames.FrameRefused, match="too_long"):
        frames.parse_frame(text)


def test_a_frame_of_as_many_bytes_as_the_protocol_allows_is_read() -> None:
    padding = "x" * (65_536 - len('{"type":"ping","padding":""}'))
    assert frames.parse_frame(f'{{"type":"ping","padding":"{padding}"}}') == frames.Ping(type="ping")


def test_an_entry_is_acknowledged_and_caught_up_like_words() -> None:
    assert frames.parse_frame('{"type":"ack","entry":7}') == frames.Ack(type="ack", entry=7)
    assert frames.parse_frame('{"type":"catch_up","entry":0}') == frames.CatchUp(type="catch_up", entry=0)
