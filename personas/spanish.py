"""PURE. The wording rules of Spanish: longer sentences than English needs, and a measure made for Spanish.

A line is measured as a whole, and every sentence of ten words or more alone too. Below ten words the measure says
little, so there the rule is: no word of six syllables, and from four words on at most 2.5 syllables a word.
"""

import re
from collections.abc import Iterator

from personas.reading import split_sentences, split_words
from personas.spanish_never import FAMILIAR, HOOKS, NUMBERS, PLACES, PROMISES, TECHNICAL, UNKIND
from personas.spanish_reading import average_syllables, count_syllables, perspicuity
from personas.wording_rules import Violation, WordingRules

MAX_WORDS = 15
MIN_PERSPICUITY = 65.0
"""INFLESZ calls 65 to 80 “fairly easy”: what a person with little schooling reads without help."""
MIN_WORDS_TO_MEASURE = 10
MIN_WORDS_TO_AVERAGE = 4
MAX_MEAN_SYLLABLES = 2.5
MAX_SYLLABLES = 5


def _check_perspicuity(line: str) -> Iterator[Violation]:
    for text in dict.fromkeys([line, *split_sentences(line)]):
        spoken_words = split_words(text)
        if len(spoken_words) >= MIN_WORDS_TO_MEASURE:
            if (reached := perspicuity(text)) < MIN_PERSPICUITY:
                rule = f"perspicuity {reached:.0f} on the INFLESZ scale, at least {MIN_PERSPICUITY:g}"
                yield text, rule, "use shorter words and sentences"
        elif text == line:
            yield from _check_short_line(line, spoken_words)


def _check_short_line(line: str, spoken_words: list[str]) -> Iterator[Violation]:
    for word in spoken_words:
        if count_syllables(word) > MAX_SYLLABLES:
            yield line, f"“{word}” has more than {MAX_SYLLABLES} syllables", "use a shorter word"
    if len(spoken_words) >= MIN_WORDS_TO_AVERAGE and average_syllables(spoken_words) > MAX_MEAN_SYLLABLES:
        yield line, f"more than {MAX_MEAN_SYLLABLES} syllables a word in a short line", "use shorter words"


RULES = WordingRules(
    max_words=MAX_WORDS,
    technical=TECHNICAL,
    unkind=UNKIND,
    promises=PROMISES,
    places=PLACES,
    hooks=HOOKS,
    time_span=re.compile(
        rf"\b({'|'.join(NUMBERS)})\s+(segundo|minuto|minutito|hora|horita|día|semana)s?\b", re.I
    ),
    check_reading=_check_perspicuity,
    promises_allowed={"queued": frozenset({"en un momento", "un momento"})},
    address=FAMILIAR,
    guesses=re.compile(r"\w@(?:s\b|\b)|\w[ao]/[ao]s?\b|\w\([ao]s?\)", re.I),
)
