"""The reader of the messages wire, over all kinds of bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.adapters.anthropic import MessagesReader
from routing.adapters.ending import StreamEnding
from routing.errors import FailureClass as F
from tests.unit.wires import message_event as event
from tests.unit.wires import message_stop as stop
from tests.unit.wires import message_words as say
from tests.unit.wires import read_by


def read(*pieces: bytes) -> tuple[str, StreamEnding | None]:
    return read_by(MessagesReader(), *pieces)


_KEYS = [
    "type",
    "delta",
    "text",
    "stop_reason",
    "content_block",
    "message",
    "content",
    "model",
    "index",
    "error",
]
_TYPES = ["message_start", "content_block_delta", "message_delta", "text_delta", "text", "message"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(_TYPES),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(_KEYS), inner),
    max_leaves=15,
)


@given(JSON, st.sampled_from(["content_block_delta", "message_delta", "message_start", "error", "message"]))
def test_no_object_makes_it_fail(found: Any, name: str) -> None:
    _, ending = read(f"event: {name}\ndata: {json.dumps(found)}\n\n".encode())
    assert ending is not None


@pytest.mark.parametrize("name", ["ping", "content_block_stop", "telemetry", "vendor_event"])
def test_an_event_that_is_not_about_the_reply_is_passed_over_whatever_is_in_it(name: str) -> None:
    other = f"event: {name}\ndata: not json at all\n\n".encode()
    assert read(say("Yes."), other, stop()) == ("Yes.", StreamEnding(failure=None))


def test_text_that_comes_with_the_start_of_its_block_is_said() -> None:
    start = event("content_block_start", index=0, content_block={"type": "text", "text": "Well, "})
    assert read(start, say("yes."), stop())[0] == "Well, yes."


def test_a_stop_without_a_reason_is_incomplete() -> None:
    assert read(say("Yes."), stop(None), event("message_stop")) == (
        "Yes.",
        StreamEnding(failure=F.INCOMPLETE, code="stop_without_reason"),
    )


def test_thinking_and_tools_are_progress_and_never_words() -> None:
    thinking = event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"})
    tool = event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": "{}"})
    reader = MessagesReader()
    seen = [(reader.feed(data), reader.reasoned) for data in (thinking, tool)]
    assert seen == [("", True), ("", False)]
    assert read(thinking, tool, stop()) == ("", StreamEnding(failure=F.EMPTY, code="end_turn"))


def test_text_that_comes_with_the_start_of_its_block_and_once_more_after_it_is_said_once() -> None:
    start = event("content_block_start", index=0, content_block={"type": "text", "text": "Well,"})
    assert read(start, say("Well,"), say(" yes."), stop())[0] == "Well, yes."
    assert read(start, say("Well, yes."), stop())[0] == "Well, yes."


def test_events_may_have_names_of_a_gateways_own() -> None:
    named = b"".join(b"event: chunk\n" + part.split(b"\n", 1)[1] for part in (say("Yes."), stop()))
    assert read(named) == ("Yes.", StreamEnding(failure=None))


def test_thoughts_in_the_text_are_no_words() -> None:
    assert read(say("<thinking>hm</thin"), say("king>Yes."), stop()) == ("Yes.", StreamEnding(failure=None))
