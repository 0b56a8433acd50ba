"""The rehearsal provider's script and orders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from routing.rehearsal.faults import Fault, FaultOrder, directive
from routing.rehearsal.script import name_in, parts, pieces, reply

HELD = (
    "Some questions were asked before and you could not answer them then. Answer them first, in order. "
    "Then answer the newest message."
)


@given(st.text(max_size=300))
def test_a_reply_is_as_long_as_a_real_one_and_always_the_same(question: str) -> None:
    said = reply(question)
    assert 40 <= len(said.split()) <= 120
    assert said == reply(question)
    assert "".join(pieces(said)) == said


def test_different_questions_get_different_replies() -> None:
    assert len({reply(f"question {n}") for n in range(50)}) > 45


def test_a_reply_keeps_to_the_topic_and_repeats_nothing_that_was_written() -> None:
    said = reply("I cannot sleep because of the xylophone").lower()
    assert "xylophone" not in said
    assert any(word in said for word in ("night", "rest"))


@pytest.mark.parametrize("words", [1, 5, 80, 400, 20_000])
def test_a_reply_has_as_many_words_as_asked_for(words: int) -> None:
    assert len(pieces(reply("Hello", words=words))) == words


def test_held_questions_and_the_new_one_are_answered_in_order_each_in_its_paragraph() -> None:
    question = f"{HELD}\n\nWhy can I not sleep?\n\nWhat should I eat?"
    assert parts(question) == ["Why can I not sleep?", "What should I eat?"]
    first, second = reply(question).split("\n\n")
    assert any(word in first.lower() for word in ("night", "rest"))
    assert any(word in second.lower() for word in ("meal", "eat"))


def test_paragraphs_of_ones_own_are_one_question() -> None:
    assert len(parts("Hello.\n\nI was out.\n\nIt rained.")) == 1


def test_it_knows_its_name_when_it_is_asked() -> None:
    assert name_in("You are Robin, a calm companion.") == "Robin"
    assert name_in("Be calm.") is None
    assert "I am Robin, a computer program" in reply("Who are you?", name="Robin")


def test_a_directive_is_a_fault() -> None:
    assert directive("please [[cut after=10 how=reset]] now") == Fault(cut="reset", after=10)
    assert directive("[[status=429 error=rate_limit]]") == Fault(status=429, error="rate_limit")
    assert directive("[[hang]]") == Fault(hang="after_words")
    assert directive("[[pace_ms=0 words=5 stamp=true]]") == Fault(pace_ms=0, words=5, stamp=True)
    assert directive("[[odd=nul,crlf]]") == Fault(odd=frozenset({"nul", "crlf"}))


@pytest.mark.parametrize(
    "message", ["hello", "[[", "[[]]", "[[make it rain]]", "[[status=9]]", "[[cut how=softly]]", "[[1]]"]
)
def test_anything_else_is_ordinary_words(message: str) -> None:
    assert directive(message) is None


@pytest.mark.parametrize(
    "fault", [{"cat": 1}, {"status": 99}, {"cut": "x"}, {"after": -1}, {"odd": ["x"]}, {"pings_ms": 0}]
)
def test_a_fault_that_makes_no_sense_is_refused(fault: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FaultOrder.model_validate({"fault": fault})


def test_the_directive_of_a_held_question_is_not_obeyed_again() -> None:
    assert directive("Answer these first.\n\n[[cut after=3]] Why?\n\nhello?") is None
    assert directive("Answer these first.\n\nWhy?\n\n[[cut after=3]] hello?") == Fault(cut="fin", after=3)
