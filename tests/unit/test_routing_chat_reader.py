"""What the chat-completions wire says, whatever the bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.adapters.openai import ChatReader
from routing.adapters.reader import Ending
from routing.errors import FailureClass as F
from tests.unit.wires import CHAT_STOP as STOP
from tests.unit.wires import chat_event as event
from tests.unit.wires import chat_words as say
from tests.unit.wires import read_by


def read(*pieces: bytes) -> tuple[str, Ending | None]:
    return read_by(ChatReader(), *pieces)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["choices", "delta", "content", "finish_reason", "index", "error", "refusal", "message"]), inner
    ),
    max_leaves=15,
)  # fmt: skip


@given(JSON)
def test_no_object_makes_it_fail(found: Any) -> None:
    _, ending = read(b"data: " + json.dumps(found).encode() + b"\n\n")
    assert ending is not None


@given(JSON, JSON)
def test_no_delta_makes_it_fail(delta: Any, finish: Any) -> None:
    _, ending = read(event(delta, finish))
    assert ending is not None


@pytest.mark.parametrize(
    "data",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"choices":' + "[" * 50_000 + "]" * 50_000 + "}",
        "9" * 10_000,
        '"\\ud83c',
    ],
    ids=["lists", "objects", "choices", "number", "half string"],
)
def test_a_monstrous_event_is_an_incomplete_reply(data: str) -> None:
    _, ending = read(say("Hello"), b"data: " + data.encode() + b"\n\n", STOP)
    assert ending is not None
    assert ending.failure is F.INCOMPLETE


def test_a_good_reply_ends_well() -> None:
    assert read(event({"role": "assistant"}), say("Hello"), say(" there."), STOP) == (
        "Hello there.",
        Ending(failure=None),
    )


def test_words_and_finish_may_share_a_chunk() -> None:
    assert read(event({"content": "Yes."}, "stop")) == ("Yes.", Ending(failure=None))


def test_done_alone_proves_nothing() -> None:
    _, ending = read(say("Hello"), b"data: [DONE]\n\n")
    assert ending is not None
    assert (ending.failure, ending.code) == (F.INCOMPLETE, "done_without_finish")


def test_nothing_after_the_finish_is_read() -> None:
    text, ending = read(say("Hello") + STOP + say(" again") + b'data: {"error": {"code": 500}}\n\n')
    assert (text, ending) == ("Hello", Ending(failure=None))


def test_words_in_the_same_bytes_as_an_error_are_said_first() -> None:
    text, ending = read(say("Hello") + b'data: {"error": {"code": 503}}\n\n')
    assert text == "Hello"
    assert ending is not None
    assert ending.failure is F.SERVER_ERROR


def test_an_empty_reason_with_every_chunk_ends_nothing() -> None:
    assert read(event({"content": "Hello"}, ""), event({"content": "."}, ""), STOP) == (
        "Hello.",
        Ending(failure=None),
    )
    _, ending = read(event({"content": "Hello"}, ""))
    assert ending is not None
    assert ending.failure is F.INCOMPLETE


@pytest.mark.parametrize("reason", [0, False, True, 7, ["stop"], {"stop": 1}, "STOP", "stop\n"])
def test_a_reason_that_is_not_the_word_is_incomplete(reason: Any) -> None:
    _, ending = read(say("Hello"), event({}, reason))
    assert ending is not None
    assert ending.failure is F.INCOMPLETE


def test_only_the_first_choice_is_heard() -> None:
    other = b'data: {"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "stop"}]}\n\n'
    assert read(other, say("Yes"), STOP) == ("Yes", Ending(failure=None))


def test_blank_text_waits_for_something_visible() -> None:
    reader = ChatReader()
    assert reader.feed(say("\n\n") + say(" ")) == ""
    assert reader.feed(say("Hello")) == "\n\n Hello"
    assert reader.feed(say("\n\n")) == "\n\n"


@pytest.mark.parametrize("text", ["", " ", "\n", "\t\u00a0", "\u200b\u2060\ufeff", "\0\0", "\u202e"])
def test_a_reply_without_anything_visible_is_empty(text: str) -> None:
    said, ending = read(say(text), STOP)
    assert said == ""
    assert ending is not None
    assert ending.failure is F.EMPTY


def test_length_without_words_is_empty_and_with_words_is_truncated() -> None:
    assert read(event({}, "length"))[1] == Ending(failure=F.EMPTY, code="length")
    assert read(say("Hello"), event({}, "length"))[1] == Ending(failure=None, truncated=True)


def test_reasoning_is_progress_and_never_words() -> None:
    for field in ("reasoning_content", "reasoning", "reasoning_details"):
        reader = ChatReader()
        assert reader.feed(event({"content": None, field: "hm"})) == ""
        assert reader.reasoned
        assert reader.feed(say("Hello")) == "Hello"
        assert not reader.reasoned


def test_content_in_parts_is_said_without_the_parts_that_are_thought() -> None:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hello"},
        {"type": "text", "text": 7},
        None,
    ]
    assert read(event({"content": parts}), STOP) == ("Hello", Ending(failure=None))


def test_a_refusal_is_words_and_then_refused_and_a_truncated_one_too() -> None:
    for finish in ("stop", "length"):
        text, ending = read(event({"refusal": "I cannot."}), event({}, finish))
        assert text == "I cannot."
        assert ending is not None
        assert ending.failure is F.REFUSED


def test_the_model_that_answered_is_named() -> None:
    reader = ChatReader()
    reader.feed(event({"content": "x"}, "stop", model="gpt-4.1-mini-2025-04-14"))
    assert reader.model == "gpt-4.1-mini-2025-04-14"


@pytest.mark.parametrize("model", [None, 7, "a\nb", {"x": 1}])
def test_a_model_that_is_no_name_is_not_kept(model: Any) -> None:
    reader = ChatReader()
    reader.feed(event({"content": "x"}, "stop", model=model))
    assert reader.model is None


def test_half_a_character_at_the_end_is_replaced_and_not_lost() -> None:
    stream = b'data: {"choices":[{"delta":{"content":"a\\ud83c"}}]}\n\n' + STOP
    assert read(stream) == ("a\ufffd", Ending(failure=None))
