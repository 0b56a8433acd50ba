"""PURE. How hard a drafted line is to read: its sentences, words, syllables and school grade."""

import functools
import re

import pyphen

_SENTENCE_END = re.compile("(?<=[.!?\u2026])[\"'\u201d\u2019)]*\\s+|\n+")
_WORD = re.compile("[^\\W_]+(?:['\u2019-][^\\W_]+)*")
_VOWELS = re.compile(r"[aeiouy]+")

# Read aloud, a placeholder is a short word, not the word between the braces.
_SPOKEN_FOR = {"{name}": "Robin", "{helpline}": "one"}


def sentences(line: str) -> list[str]:
    """The sentences of a line, in order, each with its closing mark."""
    return [part.strip() for part in _SENTENCE_END.split(line) if part and part.strip()]


def words(text: str) -> list[str]:
    """The words of a text; a placeholder counts as the word a person would hear in its place."""
    for placeholder, spoken in _SPOKEN_FOR.items():
        text = text.replace(placeholder, spoken)
    return _WORD.findall(text)


@functools.cache
def _hyphenation() -> pyphen.Pyphen:
    # The patterns are a file inside the wheel: nothing is fetched.
    return pyphen.Pyphen(lang="en_US")


def syllables(word: str) -> int:
    """Syllables of one English word: the larger of two counts, because each misses some.

    Hyphenation never cuts one letter off ("a-ny"); counting groups of vowels never parts two
    vowels ("qui-et"). The larger errs towards "hard to read", which is the safe side for a lint.
    """
    bare = re.sub(r"[^a-z]", "", word.lower())
    cuts = len(_hyphenation().positions(bare)) + 1
    return max(1, cuts, _vowel_groups(bare))


def _vowel_groups(word: str) -> int:
    groups = len(_VOWELS.findall(word))
    silent_e = word.endswith("e") and not re.search(r"([^aeiouy]le|[aeiouy]e)$", word)
    silent_ed = re.search(r"[^aeiouydt]ed$", word) is not None
    silent_es = re.search(r"[^aeiouycsgxz]es$", word) is not None
    return groups - (1 if silent_e or silent_ed or silent_es else 0)


def grade(text: str) -> float:
    """Flesch-Kincaid school grade (1975): 0.39 x words a sentence + 11.8 x syllables a word - 15.59."""
    heard = words(text)
    per_sentence = len(heard) / max(1, len(sentences(text)))
    return 0.39 * per_sentence + 11.8 * mean_syllables(heard) - 15.59


def mean_syllables(heard: list[str]) -> float:
    """Syllables a word, over a list of words; 0.0 for none."""
    return sum(syllables(word) for word in heard) / max(1, len(heard))
