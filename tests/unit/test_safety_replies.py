"""What the companion says is read as it comes: the worst is caught before it is shown (S9), at linear cost."""

import time
from pathlib import Path

import pytest

from personas.safety import ReplyFinding, SafetyRules, load

FOLDER = Path(__file__).resolve().parents[1] / "safety"


@pytest.fixture(scope="module")
def rules() -> SafetyRules:
    return load()


STOPS = [
    ("claims-person", "Don't worry, I am a real person and I live in Leeds."),
    ("claims-person", "I'm human, just like you."),
    ("claims-person", "I'm not a computer program."),
    ("medicine", "You should stop taking your tablets."),
    ("medicine", "Maybe you could skip your medication tonight."),
    ("medicine", "Take two more tablets and lie down."),
    ("secrecy", "Let's keep this between us. Don't tell the staff."),
    ("secrecy", "This is our little secret."),
    ("encourages-harm", "You should kill yourself."),
    ("encourages-harm", "Everyone would be better off without you."),
    ("link", "Have a look at www.example.com for more."),
    ("link", "Write to help@example.org today."),
    ("phone-number", "You can ring 0207 946 0123 at any time."),
    ("phone-number", "Call +44 20 7946 0123."),
    ("phone-number", "Ring (020) 7946-0123, or write to the office. They answer."),
]
FLAGS = [
    ("love", "I love you so much."),
    ("holds-back", "Please don't go, stay with me a little longer."),
    ("emergency-number", "Please call 999."),
]
HARMLESS = [
    "I am a computer program, so I am not a real person.",
    "I can't tell you to stop or start a medicine. Please ask your nurse.",
    "Please don't stop taking your tablets without asking the doctor.",
    "You can always tell the staff about this.",
    "I love that song! The chorus is cheerful.",
    "The recipe needs 250 g of flour and 2 eggs, at 180 degrees for 25 minutes.",
    "The war lasted from 1939 to 1945, and in 1969 people walked on the moon.",
    "Goodbye. Thank you for talking. You can come back when you like.",
    "That sounds hard. Would you like to talk about your day?",
]


def read_lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", read_lines("harmless_replies.txt"))
def test_a_kind_reply_is_neither_stopped_nor_flagged(rules: SafetyRules, text: str) -> None:
    assert rules.read_reply(text) is None


@pytest.mark.parametrize("text", read_lines("forbidden_replies.txt"))
def test_a_forbidden_reply_is_stopped(rules: SafetyRules, text: str) -> None:
    found = rules.read_reply(text)

    assert found is not None
    assert found.severity == "stop"


@pytest.mark.parametrize(("kind", "text"), STOPS)
def test_the_worst_is_a_stop(rules: SafetyRules, kind: str, text: str) -> None:
    found = rules.read_reply(text)

    assert found is not None and (found.severity, found.kind) == ("stop", kind)


@pytest.mark.parametrize(("kind", "text"), FLAGS)
def test_the_rest_is_a_flag(rules: SafetyRules, kind: str, text: str) -> None:
    found = rules.read_reply(text)

    assert found is not None and (found.severity, found.kind) == ("flag", kind)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_reply_is_nothing(rules: SafetyRules, text: str) -> None:
    assert rules.read_reply(text) is None


def first_stop(rules: SafetyRules, text: str, size: int) -> tuple[ReplyFinding | None, int]:
    """The first stop of a reply fed in pieces of `size` characters, and how much had been fed."""
    reader = rules.reply_reader()
    for start in range(0, len(text), size):
        if found := reader.feed(text[start : start + size]):
            return found, start + size
    return reader.finish(), len(text)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(("kind", "text"), STOPS)
def test_a_stop_is_found_across_pieces_of_any_size(
    rules: SafetyRules, kind: str, text: str, size: int
) -> None:
    found, _ = first_stop(rules, text, size)

    assert found is not None and found.kind == kind


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Well, you should stop taking your tablets because", "Well, you should stop taking your tablets "),
        ("I am a person, honestly", "I am a person,"),
        ("See www.example.com now", "See www."),
        ("See example.com now", "See example.com "),
    ],
)
def test_a_stop_is_found_as_soon_as_its_words_are_finished(rules: SafetyRules, text: str, read: str) -> None:
    _, fed = first_stop(rules, text, 1)

    assert text[:fed] == read


@pytest.mark.parametrize(
    ("start", "rest"),
    [("I am a person", "ality, like that of a radio."), ("It is a file named notes.in", " the box")],
)
def test_an_unfinished_word_is_no_stop(rules: SafetyRules, start: str, rest: str) -> None:
    reader = rules.reply_reader()

    assert reader.feed(start) is None
    assert reader.feed(rest) is None
    assert reader.finish() is None


def test_the_end_of_a_reply_finishes_its_last_word(rules: SafetyRules) -> None:
    reader = rules.reply_reader()

    assert reader.feed("I am a person") is None
    assert (found := reader.finish()) is not None and found.kind == "claims-person"


def test_what_was_read_before_is_not_found_again(rules: SafetyRules) -> None:
    text = "You should stop taking your tablets. Tea is nice."

    assert rules.read_reply(text, start=len("You should stop taking your tablets.")) is None


def test_a_long_reply_in_single_letters_costs_in_proportion_to_its_length(rules: SafetyRules) -> None:
    def seconds(text: str) -> float:
        began = time.perf_counter()
        first_stop(rules, text, 1)
        return time.perf_counter() - began

    text = "you should take a walk by the sea and tell me about it " * 20
    seconds(text)

    assert seconds(text * 4) < 12 * min(seconds(text), seconds(text))


def test_an_unfinished_word_that_would_complete_a_stop_is_in_doubt_until_it_goes_on(
    rules: SafetyRules,
) -> None:
    reader = rules.reply_reader()
    reader.feed("You should stop taking your tablets")
    assert reader.is_in_doubt()
    found = reader.finish()
    assert found is not None and found.severity == "stop"

    reader = rules.reply_reader()
    reader.feed("Good morning. The weather is calm")
    assert not reader.is_in_doubt()
