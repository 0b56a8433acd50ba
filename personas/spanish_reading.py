"""PURE. Readability of a Spanish line: its syllables, and the scale of Szigriszt-Pazos that INFLESZ names.

F. Szigriszt Pazos, *Sistemas predictivos de legilibilidad del mensaje escrito* (1993); I. Barrio-Cantalejo and others,
*Validación de la Escala INFLESZ* (2008): below 55 is hard for most readers, from 65 on is fairly easy.
"""

import re
import unicodedata

from personas.reading import average_syllables, split_sentences, split_words

_STRONG = "aeoáéóíú"
"""Vowels that make a syllable of their own beside each other: an accent parts a weak vowel from its neighbour."""
_VOWELS = re.compile(r"[aeiouáéíóúü]+")


def count_syllables(word: str) -> int:
    """Count the syllables of a Spanish word. The spelling decides: weak vowels join their neighbours."""
    letters = unicodedata.normalize("NFC", word.lower())
    # The u of que, qui, gue and gui is silent; y is a vowel at the end, where it joins the vowel before it.
    letters = re.sub(r"(?<=[qg])u(?=[eéií])", "", letters)
    letters = re.sub(r"(?<![aeiouáéíóú])y$", "i", letters)
    return max(1, sum(_count_nuclei(group) for group in _VOWELS.findall(letters)))


def _count_nuclei(vowels: str) -> int:
    strong = sum(vowel in _STRONG for vowel in vowels)
    # Two weak vowels beside each other are one syllable (“ciudad”).
    return max(1, strong)


def perspicuity(text: str) -> float:
    """Return the index of Szigriszt-Pazos (1993): 206.835 - 62.3 x syllables a word - words a sentence."""
    spoken_words = split_words(text)
    per_sentence = len(spoken_words) / max(1, len(split_sentences(text)))
    return 206.835 - 62.3 * average_syllables(spoken_words, count_syllables) - per_sentence
