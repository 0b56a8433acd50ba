"""Sentences, words, syllables and the grade they add up to."""

from pathlib import Path

import pyphen
import pytest

from personas.reading import count_syllables, grade, split_sentences, split_words


def test_syllables_come_from_a_dictionary_inside_the_package_so_no_network_is_needed() -> None:
    dictionary = Path(pyphen.LANGUAGES["en_US"])

    assert dictionary.is_file()
    assert Path(pyphen.__file__).parent in dictionary.parents


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("I", 1),
        ("safe", 1),
        ("stopped", 1),
        ("started", 2),
        ("there", 1),
        ("any", 2),
        ("able", 2),
        ("people", 2),
        ("quiet", 2),
        ("moment", 2),
        ("computer", 3),
        ("don\u2019t", 1),
        ("understanding", 4),
    ],
)
def test_syllables_are_counted_as_spoken(word: str, count: int) -> None:
    assert count_syllables(word) == count


def test_sentences_end_at_marks_and_at_line_breaks() -> None:
    assert split_sentences("I am here. Are you?\nGood… yes") == ["I am here.", "Are you?", "Good…", "yes"]


def test_a_contraction_is_one_word_and_a_placeholder_is_one_word() -> None:
    assert split_words("Don't call {helpline}, {name}.") == ["Don't", "call", "one", "Robin"]


def test_the_grade_is_flesch_and_kincaid_s() -> None:
    # 12 words in 2 sentences with 14 syllables: 0.39 x 6 + 11.8 x 14/12 - 15.59.
    assert grade("The cat sat on the mat. It was a warm and quiet day.") == pytest.approx(
        0.39 * 13 / 2 + 11.8 * 14 / 13 - 15.59
    )
