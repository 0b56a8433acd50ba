"""Server-sent events out of bytes, however they are split."""

import httpx
import pytest
from httpx_sse import EventSource
from hypothesis import given
from hypothesis import strategies as st

from routing.sse import EVENT_LIMIT, Decoder, Event, TooLarge


def decode(*pieces: bytes) -> list[Event]:
    decoder = Decoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


TEXTS = st.lists(
    st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(texts=TEXTS, end=ENDS, blank_end=ENDS, cuts=st.lists(st.integers(min_value=0, max_value=400)))
def test_events_are_the_same_wherever_the_bytes_are_cut(
    texts: list[str], end: bytes, blank_end: bytes, cuts: list[int]
) -> None:
    # A CR followed by an LF would be one line end, not two.
    blank_end = end if (end, blank_end) == (b"\r", b"\n") else blank_end
    stream = b"".join(b"data: " + text.encode() + end + blank_end for text in texts)
    places = sorted({min(cut, len(stream)) for cut in cuts})
    pieces = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    assert [event.data for event in decode(*pieces)] == texts


@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_make_it_fail_and_splitting_changes_nothing(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert decode(*pieces) == decode(whole) == decode(*(whole[i : i + 1] for i in range(len(whole))))


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_every_line_end_ends_a_line(end: str) -> None:
    assert decode(f"data: a{end}data: b{end}{end}data: c{end}{end}".encode()) == [
        Event("message", "a\nb"),
        Event("message", "c"),
    ]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_nothing_else_ends_a_line(character: str) -> None:
    assert decode(f"data: a{character}b\n\n".encode()) == [Event("message", f"a{character}b")]


def test_a_last_event_without_a_blank_line_is_still_delivered() -> None:
    assert decode(b"data: one\n\ndata: two\n") == [Event("message", "one"), Event("message", "two")]
    assert decode(b"data: one\n\ndata: two") == [Event("message", "one"), Event("message", "two")]


def test_comments_and_unknown_fields_are_no_events() -> None:
    assert decode(b": hello\n\n:\n\nid: 7\nretry: 10\nnonsense\n\ndata: x\nfoo: bar\n\n") == [
        Event("message", "x")
    ]


def test_an_event_has_the_type_it_names_and_the_next_one_not() -> None:
    assert decode(b"event: ping\ndata: a\n\ndata: b\n\n") == [Event("ping", "a"), Event("message", "b")]


def test_a_type_without_data_is_no_event_and_does_not_stick() -> None:
    assert decode(b"event: ping\n\ndata: b\n\n") == [Event("message", "b")]


def test_an_error_field_is_an_event_of_type_error() -> None:
    assert decode(b'error: {"code":500}\n\n') == [Event("error", '{"code":500}')]


def test_only_one_space_after_the_colon_is_no_part_of_the_data() -> None:
    assert decode(b"data:a\n\ndata: a\n\ndata:  a\n\n") == [
        Event("message", text) for text in ("a", "a", " a")
    ]


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_first_field() -> None:
    assert decode(b"\xef", b"\xbb\xbfda", b"ta: a\n\n") == [Event("message", "a")]


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert decode(b"data: \xff\xed\xa0\xbc.\n\n")[0].data.endswith("\ufffd.")


def test_a_line_without_an_end_is_bounded() -> None:
    decoder = Decoder()
    with pytest.raises(TooLarge):
        for _ in range(EVENT_LIMIT // 1000 + 2):
            decoder.feed(b"x" * 1000)


def test_an_event_of_many_lines_is_bounded() -> None:
    decoder = Decoder()
    with pytest.raises(TooLarge):
        for _ in range(EVENT_LIMIT // 1000 + 2):
            decoder.feed(b"data: " + b"x" * 1000 + b"\n")


LINES = st.sampled_from(["data: a", "data:  b", "data", ": c", "event: e", "id: 1", "nonsense", "", ""])


@given(st.lists(LINES, max_size=30))
def test_a_lawful_stream_gives_the_same_events_as_httpx_sse(lines: list[str]) -> None:
    # It drops a last event without a blank line, and delivers events that hold only an id: neither is asked here.
    body = "".join(f"{line}\n" for line in [*lines, "", ""]).encode()
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    theirs = [Event(event.event, event.data) for event in EventSource(response).iter_sse() if event.data]
    assert [event for event in decode(body) if event.data] == theirs
