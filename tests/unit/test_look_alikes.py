"""Typed codes: case, spaces and look-alike letters make no difference, other letters do (A1)."""

import pytest

from companion import cards
from companion.look_alikes import ALPHABET, MAX_READINGS, MEANT, list_readings, read_letters, stands_for


@pytest.mark.parametrize(
    "typed",
    ["abcd-2345", "ABCD 2345", " a b c d 2 3 4 5 ", "ａｂｃｄ２３４５", "Abcd–2345.", "abcd\u200b2345"],
)
def test_case_width_spaces_and_marks_make_no_difference(typed: str) -> None:
    assert read_letters(typed) == "abcd2345"


@pytest.mark.parametrize(
    ("typed", "printed"),
    [("0bcd", "dbcd"), ("obcd", "qbcd"), ("1bcd", "jbcd"), ("lbcd", "7bcd"), ("zbcd", "2bcd"),
     ("5bcd", "sbcd"), ("8acd", "bacd"), ("vbcd", "ubcd"), ("9bcd", "gbcd")],
)  # fmt: skip
def test_a_look_alike_letter_stands_for_the_printed_one(typed: str, printed: str) -> None:
    assert stands_for(typed, printed)
    assert printed in list_readings(typed)


@pytest.mark.parametrize(
    ("typed", "printed"), [("abcd", "abce"), ("abc", "abcd"), ("", "a"), ("kbcd", "mbcd")]
)
def test_another_letter_stands_for_nothing_else(typed: str, printed: str) -> None:
    assert not stands_for(typed, printed)


def test_every_letter_stands_for_itself_and_every_meaning_is_a_letter_that_codes_have() -> None:
    assert all(stands_for(letter, letter) for letter in ALPHABET)
    assert {letter for meant in MEANT.values() for letter in meant} <= set(ALPHABET)


def test_readings_are_bounded_and_begin_with_what_was_typed() -> None:
    readings = list(list_readings("ggqq99gg"))

    assert (readings[0], len(readings)) == ("ggqq99gg", MAX_READINGS)


def test_a_card_code_is_read_with_every_letter_replaced_by_a_look_alike() -> None:
    card = cards.derive_card("gz5bu7", 1)
    replaced = {"g": "9", "z": "2", "5": "s", "b": "8", "u": "v", "7": "1", "2": "z", "s": "5", "8": "b",
                "v": "u", "9": "q", "j": "i", "d": "0", "q": "o"}  # fmt: skip
    typed = "".join(replaced.get(letter, letter) for letter in card.code).upper()

    assert "gz5bu7" in cards.list_handles(typed)
    assert cards.is_code(typed, "gz5bu7", 1)
    assert not cards.is_code(typed, "gz5bu7", 2)
    assert not cards.is_code(card.link, "gz5bu7", 1)
