"""Properties of the readers of both wires, for arbitrary bytes (T9, T16)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.adapters.anthropic import MessagesReader
from routing.adapters.openai import ChatReader
from routing.adapters.reader import StreamReader
from tests.unit.wires import CHAT_STOP, chat_words, message_stop, message_words, read_by


@pytest.mark.parametrize(
    ("reader", "say", "stop"),
    [(ChatReader, chat_words, CHAT_STOP), (MessagesReader, message_words, message_stop())],
    ids=["chat", "messages"],
)
@given(texts=st.lists(st.text(), min_size=1), cuts=st.lists(st.integers(0, 2000)))
def test_text_and_ending_are_the_same_wherever_the_bytes_are_cut(
    reader: type[StreamReader],
    say: Callable[[str], bytes],
    stop: bytes,
    *,
    texts: list[str],
    cuts: list[int],
) -> None:
    stream = b"".join(map(say, texts)) + stop
    places = sorted({min(cut, len(stream)) for cut in cuts})
    pieces = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    assert read_by(reader(), *pieces) == read_by(reader(), stream)


@pytest.mark.parametrize("reader", [ChatReader, MessagesReader])
@given(pieces=st.lists(st.binary(max_size=80)))
def test_no_bytes_make_it_fail_and_none_are_a_whole_reply(
    reader: type[StreamReader], *, pieces: list[bytes]
) -> None:
    _, ending = read_by(reader(), *pieces)
    assert ending is not None
    assert ending.failure is not None
