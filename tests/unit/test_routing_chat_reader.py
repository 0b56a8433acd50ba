"""The reader of the chat-completions wire, over all kinds of bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.adapters.ending import StreamEnding
from routing.adapters.openai import ChatReader
from routing.errors import FailureClass as F
from tests.unit.wires import CHAT_STOP as STOP
from tests.unit.wires import chat_event as event
from tests.unit.wires import chat_words as say
from tests.unit.wires import read_by


def read(*pieces: bytes) -> tuple[str, StreamEnding | None]:
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
        StreamEnding(failure=None),
    )


def test_words_and_finish_may_share_a_chunk() -> None:
    assert read(event({"content": "Yes."}, "stop")) == ("Yes.", StreamEnding(failure=None))


def test_done_alone_proves_nothing() -> None:
    _, ending = read(say("Hello"), b"data: [DONE]\n\n")
    assert ending is not None
    assert (ending.failure, ending.code) == (F.INCOMPLETE, "done_without_finish")


def test_nothing_after_the_finish_is_read() -> None:
    text, ending = read(say("Hello") + STOP + say(" again") + b'data: {"error": {"code": 500}}\n\n')
    assert (text, ending) == ("Hello", StreamEnding(failure=None))


def test_words_in_the_same_bytes_as_an_error_are_said_first() -> None:
    text, ending = read(say("Hello") + b'data: {"error": {"code": 503}}\n\n')
    assert text == "Hello"
    assert ending is not None
    assert ending.failure is F.SERVER_ERROR


def test_an_empty_reason_with_every_chunk_ends_nothing() -> None:
    assert read(event({"content": "Hello"}, ""), event({"content": "."}, ""), STOP) == (
        "Hello.",
        StreamEnding(failure=None),
    )
    _, ending = read(event({"content": "Hello"}, ""))
    assert ending is not None
    assert ending.failure is F.INCOMPLETE


@pytest.mark.parametrize("reason", [0, False, True, 7, ["stop"], {"stop": 1}, "stopp", "stop it"])
def test_a_reason_that_is_not_the_word_is_incomplete(reason: Any) -> None:
    _, ending = read(say("Hello"), event({}, reason))
    assert ending is not None
    assert ending.failure is F.INCOMPLETE


def test_only_the_first_choice_is_heard() -> None:
    other = b'data: {"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "stop"}]}\n\n'
    assert read(other, say("Yes"), STOP) == ("Yes", StreamEnding(failure=None))


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
    assert read(event({}, "length"))[1] == StreamEnding(failure=F.EMPTY, code="length")
    assert read(say("Hello"), event({}, "length"))[1] == StreamEnding(failure=None, truncated=True)


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
    assert read(event({"content": parts}), STOP) == ("Hello", StreamEnding(failure=None))


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
    assert read(stream) == ("a\ufffd", StreamEnding(failure=None))


def chunk(**choice: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def test_a_last_chunk_with_the_whole_message_says_nothing_twice() -> None:
    message = {"role": "assistant", "content": "Hello there."}
    for last in (
        chunk(index=0, message=message, finish_reason="stop"),
        chunk(index=0, delta={}, message=message, finish_reason="stop"),
        chunk(index=0, delta={"content": ""}, message=message, finish_reason="stop"),
        chunk(index=0, delta={"role": "assistant"}, message=message, finish_reason="stop"),
    ):
        assert read(say("Hello"), say(" there."), last) == ("Hello there.", StreamEnding(failure=None))


def test_a_last_delta_that_is_the_whole_reply_once_more_says_nothing_twice() -> None:
    whole = "It is good that you are here."
    pieces = [say("It is good"), say(" that you are"), say(" here."), event({"content": whole}, "stop")]
    assert read(*pieces) == (whole, StreamEnding(failure=None))
    assert read(say("ha"), say(" "), event({"content": "ha"}, "stop")) == (
        "ha ha",
        StreamEnding(failure=None),
    )


@pytest.mark.parametrize("field", ["delta", "message"])
def test_deltas_that_each_hold_the_whole_text_so_far_add_up_to_it(field: str) -> None:
    texts = ["I", "I am", "I am here", "I am here", "I am here for you."]
    for count in range(2, len(texts) + 1):
        pieces = [chunk(index=0, **{field: {"content": text}}) for text in texts[:count]]
        assert read(*pieces, STOP) == (texts[count - 1], StreamEnding(failure=None))


def test_pieces_that_only_look_alike_are_all_said() -> None:
    for texts in (["ha", "ha", "ha"], ["no", "now", " then"], ["1", "10", "100 times"[1:]], ["a", "a"]):
        assert read(*map(say, texts), STOP)[0] == "".join(texts)


def test_a_server_that_changes_what_it_sent_before_breaks_its_reply() -> None:
    _, ending = read(say("I"), say("I am"), say("I am he"), say("I was"), STOP)
    assert ending == StreamEnding(failure=F.INCOMPLETE, code="rewritten")


@pytest.mark.parametrize("first", [{"role": "assistant", "content": ""}, {"content": "It"}])
def test_a_reason_with_every_chunk_ends_the_reply_at_its_end(first: dict[str, str]) -> None:
    pieces = [event(first, "stop"), event({"content": " is"}, "stop"), event({"content": " good."}, "stop")]
    done = b"data: [DONE]\n\n"
    text = first["content"] + " is good."
    assert read(*pieces, done) == (text, StreamEnding(failure=None))
    assert read(*pieces, b'data: {"choices": [], "usage": {}}\n\n') == (text, StreamEnding(failure=None))
    # Without a word of the server that it is over, it may as well have been cut.
    assert read(*pieces)[1] == StreamEnding(failure=F.INCOMPLETE, code="no_finish")


def test_a_reply_in_one_chunk_is_whole_whatever_follows() -> None:
    one = event({"content": "Yes."}, "stop")
    for after in ([], [b"data: [DONE]\n\n"], [b'data: {"choices": []}\n\n']):
        assert read(one, *after) == ("Yes.", StreamEnding(failure=None))
    reader = ChatReader()
    assert reader.feed(one) == "Yes."
    assert reader.ending is None
    # The server keeps the connection open and says no more.
    assert reader.expire() == ""
    assert reader.ending == StreamEnding(failure=None)


def test_silence_ends_no_reply_that_has_no_reason() -> None:
    reader = ChatReader()
    reader.feed(say("Yes"))
    assert (reader.expire(), reader.ending) == ("", None)


def test_null_data_is_a_sign_of_life() -> None:
    assert read(b"data: null\n\n", say("Yes."), b"data: null\n\n", STOP) == (
        "Yes.",
        StreamEnding(failure=None),
    )


@pytest.mark.parametrize("index", [None, 0, "0"])
def test_the_first_choice_may_have_no_number(index: Any) -> None:
    spoken = chunk(index=index, delta={"content": "Yes."}, finish_reason=None)
    assert read(spoken, chunk(index=index, delta={}, finish_reason="stop")) == (
        "Yes.",
        StreamEnding(failure=None),
    )


@pytest.mark.parametrize("name", ["completion", "chunk", "data", "chat.completion.chunk"])
def test_events_may_have_names_of_a_gateways_own(name: str) -> None:
    named = b"".join(f"event: {name}\n".encode() + part for part in (say("Yes"), say("."), STOP))
    other = b'event: telemetry\ndata: {"error": "not ours"}\n\nevent: telemetry\ndata: not json\n\n'
    assert read(other, named) == ("Yes.", StreamEnding(failure=None))


def test_an_error_inside_a_choice_is_an_error() -> None:
    broken = chunk(index=0, delta={}, finish_reason="error", error={"code": 502, "message": "gone"})
    assert read(say("Yes"), broken)[1] == StreamEnding(failure=F.SERVER_ERROR, code="http_502")


def test_a_word_that_no_list_has_is_named_on_the_record() -> None:
    assert read(say("Yes."), event({}, "Eos_X"))[1] == StreamEnding(failure=F.INCOMPLETE, code="finish.eos_x")
    assert read(say("Yes."), event({}, "tool_calls"))[1] == StreamEnding(
        failure=F.INCOMPLETE, code="tool_calls"
    )
    assert read(say("Yes."), event({}, "two words, and a secret"))[1] == StreamEnding(
        failure=F.INCOMPLETE, code="unknown_finish"
    )


def test_thoughts_in_the_content_are_progress_and_no_words() -> None:
    reader = ChatReader()
    assert reader.feed(say("<think>She is")) == ""
    assert reader.reasoned
    assert reader.feed(say(" sad.</think>\n\n")) == ""
    assert reader.feed(say("Good day.")) == "\n\nGood day."
    assert not reader.reasoned


def test_thoughts_alone_are_an_empty_reply() -> None:
    assert read(say("<think>on and on"), STOP)[1] == StreamEnding(failure=F.EMPTY, code="stop")
    assert read(say("<think>on and on"), event({}, "length"))[1] == StreamEnding(
        failure=F.EMPTY, code="length"
    )
    assert read(say("<think>hm</think>"), STOP)[1] == StreamEnding(failure=F.EMPTY, code="stop")


def test_thoughts_that_went_out_as_words_break_the_reply() -> None:
    text, ending = read(say("She is sad."), say("</think>Good day."), STOP)
    assert (text, ending) == ("She is sad.", StreamEnding(failure=F.INCOMPLETE, code="unopened_thoughts"))


def test_a_reply_that_ends_inside_thoughts_after_words_is_incomplete() -> None:
    text, ending = read(say("Good day. "), say("<think>hm"), STOP)
    assert (text, ending) == ("Good day. ", StreamEnding(failure=F.INCOMPLETE, code="unclosed_thoughts"))
    assert read(say("Good day. "), say("<think>hm"), event({}, "length"))[1] == StreamEnding(
        failure=None, truncated=True
    )
