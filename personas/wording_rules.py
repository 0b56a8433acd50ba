"""PURE. What the lint of drafted lines needs to know of one language."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

Violation = tuple[str, str, str]
"""The sentence, the rule it breaks, and how to mend it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WordingRules:
    """The rules of one language. Phrases are in small letters and match as whole words."""

    max_words: int
    """Words in a sentence."""
    technical: tuple[str, ...]
    unkind: tuple[str, ...]
    promises: tuple[str, ...]
    places: tuple[str, ...]
    hooks: tuple[str, ...]
    time_span: re.Pattern[str]
    """A number of minutes, hours or days."""
    check_reading: Callable[[str], Iterator[Violation]]
    """Applies the readability measure of the language to a line."""
    promises_allowed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By the key of a line, the promises that it may make."""
    address: tuple[str, ...] = ()
    """Words of a way to address the reader that is not the one of this file."""
    guesses: re.Pattern[str] | None = None
    """Ways to write that split the reader into men and women."""
