"""A model's thoughts are no part of its reply, however its server writes them into the text (T6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.adapters.thoughts import LONGEST_MARK, Thoughts

MARKS = [
    ("<think>", "</think>"),
    ("<THINK>", "</Think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<antThinking>", "</antThinking>"),
    ("<seed:think>", "</seed:think>"),
    ("<think >", "</ think>"),
    ('<think type="long">', "</think>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel>thought", "<channel|>"),
    ("<unused94>thought", "<unused95>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
]


def seen(*pieces: str, unopened: bool = False) -> tuple[str, Thoughts]:
    thoughts = Thoughts(unopened=unopened)
    shown = "".join(thoughts.feed(piece) for piece in pieces)
    return shown + thoughts.close(), thoughts


@pytest.mark.parametrize(("begin", "end"), MARKS)
def test_thoughts_are_taken_out_in_every_spelling_and_wherever_the_pieces_are_cut(
    begin: str, end: str
) -> None:
    text = f"{begin}She is sad, 3 < 4 [I think] & more.{end}Good day. <3"
    for size in (1, 2, 3, 7, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        shown, thoughts = seen(*pieces)
        assert shown == "Good day. <3", size
        assert not thoughts.leaked and not thoughts.is_unclosed


@pytest.mark.parametrize(("begin", "end"), MARKS)
def test_thoughts_between_words_are_taken_out(begin: str, end: str) -> None:
    assert seen(f"Well, {begin}hm{end}yes.")[0] == "Well, yes."


ORDINARY = [
    "I <3 you",
    "a < b and b > c",
    "x<y",
    "2 <4",
    "a < think it over",
    "<b>bold</b>",
    "< ",
    "<",
    "<<<>>>",
    "[1] and [THE] end",
    "R&D &lt;b&gt; &amp;",
    "<thinker>",
    "<reasonable>",
    "I think </3",
    "◁ left",
    "a <- b",
    "<|>",
    "{<|im_end}",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_said_to_the_letter(text: str) -> None:
    assert seen(text)[0] == text
    assert seen(*text)[0] == text


@given(st.lists(st.text(alphabet="<>/|[]◁▷& athink=\n", max_size=12)))
def test_text_without_a_whole_mark_is_never_lost(pieces: list[str]) -> None:
    text = "".join(pieces)
    shown, thoughts = seen(*pieces)
    assert shown == seen(text)[0] or thoughts.leaked
    if "think" not in text:
        assert shown == text


@pytest.mark.parametrize(
    ("text", "held"), [("I <", 1), ("I <3", 0), ("a < b", 0), ("a < w", 0), ("[T", 2), ("[Th", 0)]
)
def test_only_what_may_become_a_mark_is_held_back(text: str, held: int) -> None:
    assert len(text) - len(Thoughts().feed(text)) == held


def test_no_more_is_held_back_than_a_mark_is_long() -> None:
    thoughts = Thoughts()
    shown = thoughts.feed('<think a="' + "x" * 500)
    assert len(shown) >= 500 - LONGEST_MARK
    assert shown + thoughts.close() == '<think a="' + "x" * 500


def test_thoughts_without_a_mark_at_their_start_are_dropped_while_they_have_not_gone_out() -> None:
    shown, thoughts = seen("She is sad.</think>Good day.")
    assert (shown, thoughts.closed_unopened, thoughts.leaked) == ("Good day.", True, False)


def test_thoughts_without_a_mark_at_their_start_that_have_gone_out_are_told_of() -> None:
    _, thoughts = seen("She is", " sad.", "</think>", "Good day.")
    assert thoughts.closed_unopened and thoughts.leaked


def test_a_lane_known_for_it_is_heard_from_the_mark_on() -> None:
    shown, thoughts = seen("She is", " sad.", "</thi", "nk>", "Good day.", unopened=True)
    assert (shown, thoughts.leaked, thoughts.closed_unopened) == ("Good day.", False, True)


def test_a_reply_without_any_mark_of_such_a_lane_is_released_at_its_end() -> None:
    shown, thoughts = seen("Good ", "day. <3", unopened=True)
    assert (shown, thoughts.closed_unopened) == ("Good day. <3", False)


def test_a_mark_twice_is_one() -> None:
    shown, thoughts = seen("<think>", "</think>", "\n</think>", "Good day.")
    assert shown.strip() == "Good day."
    assert not thoughts.leaked


def test_thoughts_that_never_end_are_no_words() -> None:
    shown, thoughts = seen("<think>", "on and on")
    assert (shown, thoughts.is_unclosed) == ("", True)


def test_thoughts_of_any_length_cost_no_memory() -> None:
    thoughts = Thoughts()
    thoughts.feed("<think>")
    for _ in range(2_000):
        assert thoughts.feed("I think < so [ or & not. " * 20) == ""
    assert len(thoughts._pending) < LONGEST_MARK
    assert thoughts._held == []


@pytest.mark.parametrize("filler", ["<", "[", "&l", "<t", "< ", "◁"])
def test_a_flood_of_beginnings_is_read_in_linear_time(filler: str) -> None:
    # With a quadratic reader, this many beginnings would exceed the tests' time limit.
    text = filler * (1_000_000 // len(filler))
    assert seen(text)[0] == text
