"""PURE. What the lint of drafted lines needs to know of one language."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class WordingRules:
    """The rules of one language. Phrases are in small letters and match as whole words."""

    max_words: int
    """Words in a sentence."""
    explain_hard: Callable[[str], str | None]
    """Says by how much a text breaks the readability measure of the language; None: it reads well."""
    count_syllables: Callable[[str], int]
    max_syllables: int
    """Syllables of a word in a line that is too short for the measure."""
    max_mean_syllables: float
    """Syllables a word in such a line, from a few words on."""
    technical: tuple[str, ...]
    unkind: tuple[str, ...]
    promises: tuple[str, ...]
    places: tuple[str, ...]
    hooks: tuple[str, ...]
    time_span: re.Pattern[str]
    """A number of minutes, hours or days."""
    promises_allowed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By the key of a line, the promises that it may make."""
    address: tuple[str, ...] = ()
    """Words of a way to address the reader that is not the one of this file."""
    guesses: re.Pattern[str] | None = None
    """Ways to write that split the reader into men and women."""
