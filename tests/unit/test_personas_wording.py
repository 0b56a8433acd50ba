"""Every wording rule has a line that breaks it, and the lines that ship break none."""

import pytest

from personas.load import DEFAULT, load
from personas.schema import Lines
from personas.wording import lint_line

THIRTEEN_WORDS = "I can sit here with you and read what you like to say."


def rules(key: str, line: str) -> list[str]:
    return [finding.rule for finding in lint_line(key, line)]


def test_the_lines_that_ship_break_no_rule() -> None:
    lines = load(DEFAULT).lines.shown()

    instructions = [name for name in Lines.model_fields if name.startswith("instruction_")]
    assert len(lines) == len(Lines.model_fields) - len(instructions)
    assert [finding for key, line in lines.items() for finding in lint_line(key, line)] == []


def test_thirteen_words_are_one_sentence_and_fourteen_are_too_many() -> None:
    assert rules("pause", THIRTEEN_WORDS) == []
    assert rules("pause", THIRTEEN_WORDS.replace("say.", "say now.")) == [
        "14 words in a sentence, at most 13"
    ]


def test_a_line_break_ends_a_sentence_too() -> None:
    assert rules("pause", "I can sit here with you\nand read what you like to say to me now.") == []


def test_a_hard_line_is_told_its_school_grade() -> None:
    (rule,) = rules(
        "pause", "Unfortunately the availability of this particular service is temporarily interrupted."
    )

    assert rule.startswith("school grade ")
    assert rule.endswith("at most 5")


def test_easy_neighbours_do_not_carry_a_hard_sentence() -> None:
    easy = "I am here. You are safe. It is all right. I can sit with you. "
    hard = "Every participant receives another opportunity to continue this conversation."

    assert any(rule.startswith("school grade") for rule in rules("pause", easy + hard))


def test_a_short_line_is_judged_by_its_words_not_by_the_formula() -> None:
    assert rules("disclosure", "I am a computer program.") == []
    assert rules("pause", "I am temporarily away.") == ["the word “temporarily” is hard to read"]
    assert rules("pause", "Pausing a little: returning later.") == [
        "more than 1.6 syllables a word in a short line"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "There was an error.",
        "The SERVER is away.",
        "This was a time-out.",
        "That is against our policy.",
        "The system is down.",
        "Oops, I am away.",
        "Hang on, I am here.",
        "Please calm down.",
        "You should try again.",
        "You must try again.",
        "I missed you.",
        "Please don\u2019t go.",
    ],
)
def test_words_that_are_never_said_are_found_whatever_their_case_and_apostrophe(line: str) -> None:
    assert any("which is never said" in rule for rule in rules("pause", line))


def test_a_never_said_word_inside_a_longer_word_is_not_meant() -> None:
    assert rules("pause", "The terror is gone. She is a modeller of clay.") == []


@pytest.mark.parametrize(
    "line",
    [
        "I am back in ten minutes.",
        "I am back soon.",
        "I come in a moment.",
        "It is an hour.",
        "A few minutes.",
    ],
)
def test_a_time_is_never_promised(line: str) -> None:
    assert "promises a time" in rules("pause", line)


def test_only_the_queued_line_may_say_in_a_moment() -> None:
    line = "I will come to you in a moment."

    assert rules("queued", line) == []
    assert rules("try_again", line) == ["promises a time"]


def test_a_number_is_never_shown() -> None:
    assert "holds a number" in rules("queued", "You are 3.")


@pytest.mark.parametrize(
    "line", ["You are next in line.", "There are people ahead of you.", "It is your turn."]
)
def test_a_place_in_a_queue_is_never_named(line: str) -> None:
    assert "names a place in a queue" in rules("queued", line)


def test_a_goodbye_asks_nothing() -> None:
    assert "asks a question in a goodbye" in rules("goodbye", "Goodbye. Will you come back?")
    assert rules("idle_warning", "Are you still there?") == []


@pytest.mark.parametrize("line", ["Goodbye. I will miss you.", "Stay with me.", "One more thing. Goodbye."])
def test_a_goodbye_lets_go(line: str) -> None:
    assert any("holds on to them" in rule for rule in rules("goodbye", line))


@pytest.mark.parametrize(
    "line", ["I am here \U0001f642", "I am here \U0001f1ec\U0001f1e7", "I am here :)", "I am here <3"]
)
def test_no_emoji(line: str) -> None:
    assert "holds an emoji" in rules("pause", line)


def test_no_sign_that_cannot_be_seen() -> None:
    assert "holds a sign that cannot be seen" in rules("pause", "I am\u200b here.")


def test_a_placeholder_stands_only_where_it_means_something() -> None:
    assert rules("person_joins", "{name} is here now.") == []
    assert "{name} has no meaning in this line" in rules("pause", "{name} is here now.")
    assert "{helpline} has no meaning in this line" in rules("person_joins", "{name} is on {helpline} now.")
    assert "} has no meaning in this line" in rules("pause", "I am here }.")


def test_a_safety_line_names_the_helpline_and_a_joining_line_the_person() -> None:
    assert "does not name {helpline}" in rules("safety_told", "You can call a helpline.")
    assert "does not name {name}" in rules("person_leaves", "Sam has left.")


def test_a_finding_names_the_key_the_sentence_and_the_mend() -> None:
    (finding,) = lint_line("pause", "I am here. There was an error.")

    assert (finding.key, finding.sentence) == ("pause", "There was an error.")
    assert finding.mend == "say what happened to them, not the cause"
