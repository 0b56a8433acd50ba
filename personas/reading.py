"""PURE. Readability of a drafted line: its sentences, words, syllables and school grade."""

import functools
import re
from collections.abc import Callable

import pyphen

_SENTENCE_END = re.compile("(?<=[.!?\u2026])[\"'\u201d\u2019)]*\\s+|\n+")
_WORD = re.compile("[^\\W_]+(?:['\u2019-][^\\W_]+)*")
_VOWELS = re.compile(r"[aeiouy]+")

# A placeholder is read aloud as a short word, not as the word between the braces.
_SPOKEN_PLACEHOLDERS = {"{name}": "Robin", "{helpline}": "one"}


def split_sentences(line: str) -> list[str]:
    """Split a line into sentences, each with its closing mark."""
    return [part.strip() for part in _SENTENCE_END.split(line) if part and part.strip()]


def split_words(text: str) -> list[str]:
    """Split a text into words. A placeholder counts as the word that is spoken in its place."""
    for placeholder, spoken in _SPOKEN_PLACEHOLDERS.items():
        text = text.replace(placeholder, spoken)
    return _WORD.findall(text)


@functools.cache
def _load_hyphenation() -> pyphen.Pyphen:
    # The patterns are a file in the wheel, so nothing is downloaded.
    return pyphen.Pyphen(lang="en_US")


@functools.lru_cache(maxsize=10_000)
def count_syllables(word: str) -> int:
    """Count the syllables of an English word: the larger of two counts, because each misses some.

    Hyphenation never cuts one letter off ("a-ny"); counting groups of vowels never parts two
    vowels ("qui-et"). The larger errs towards "hard to read", which is safe for a lint.
    """
    bare = re.sub(r"[^a-z]", "", word.lower())
    cuts = len(_load_hyphenation().positions(bare)) + 1
    return max(1, cuts, _count_vowel_groups(bare))


def _count_vowel_groups(word: str) -> int:
    groups = len(_VOWELS.findall(word))
    silent_e = word.endswith("e") and not re.search(r"([^aeiouy]le|[aeiouy]e)$", word)
    silent_ed = re.search(r"[^aeiouydt]ed$", word) is not None
    silent_es = re.search(r"[^aeiouycsgxz]es$", word) is not None
    return groups - (1 if silent_e or silent_ed or silent_es else 0)


def grade(text: str) -> float:
    """Return the Flesch-Kincaid school grade (1975): 0.39 x words a sentence + 11.8 x syllables a word - 15.59."""
    spoken_words = split_words(text)
    per_sentence = len(spoken_words) / max(1, len(split_sentences(text)))
    return 0.39 * per_sentence + 11.8 * average_syllables(spoken_words, count_syllables) - 15.59


def average_syllables(spoken_words: list[str], count: Callable[[str], int]) -> float:
    """Return the mean number of syllables a word, counted as the language counts them; 0.0 for no words."""
    return sum(map(count, spoken_words)) / max(1, len(spoken_words))
