"""PURE. The wording rules of English.

A line is graded as a whole, and every sentence of ten words or more is graded alone too, so that easy
sentences cannot hide a hard one. Below ten words the formula is unreliable ("I am a computer program."
would be grade 5.2), so there the rule is: no word of four syllables, and from four words on at most 1.6 syllables a
word.
"""

import re
from collections.abc import Iterator

from personas.never import HOOKS, NUMBERS, PLACES, PROMISES, TECHNICAL, UNKIND
from personas.reading import average_syllables, count_syllables, grade, split_sentences, split_words
from personas.wording_rules import Violation, WordingRules

MAX_WORDS = 13
MAX_GRADE = 5.0
MIN_WORDS_TO_GRADE = 10
MIN_WORDS_TO_AVERAGE = 4
MAX_MEAN_SYLLABLES = 1.6
MAX_SYLLABLES = 3


def _check_grade(line: str) -> Iterator[Violation]:
    for text in dict.fromkeys([line, *split_sentences(line)]):
        spoken_words = split_words(text)
        if len(spoken_words) >= MIN_WORDS_TO_GRADE:
            if (reached := grade(text)) > MAX_GRADE:
                rule = f"school grade {reached:.1f}, at most {MAX_GRADE:g}"
                yield text, rule, "use shorter words and sentences"
        elif text == line:
            yield from _check_short_line(line, spoken_words)


def _check_short_line(line: str, spoken_words: list[str]) -> Iterator[Violation]:
    longest = max(spoken_words, key=count_syllables, default="")
    if longest and count_syllables(longest) > MAX_SYLLABLES:
        yield line, f"the word “{longest}” is hard to read", "use a shorter word"
    elif len(spoken_words) >= MIN_WORDS_TO_AVERAGE and average_syllables(spoken_words) > MAX_MEAN_SYLLABLES:
        yield line, f"more than {MAX_MEAN_SYLLABLES} syllables a word in a short line", "use shorter words"


RULES = WordingRules(
    max_words=MAX_WORDS,
    technical=TECHNICAL,
    unkind=UNKIND,
    promises=PROMISES,
    places=PLACES,
    hooks=HOOKS,
    time_span=re.compile(rf"\b({'|'.join(NUMBERS)}|an?)\s+(of\s+)?(second|minute|min|hour|day)s?\b", re.I),
    check_reading=_check_grade,
    # Allowed in the queued line: the wait ceiling is short, and "try again" follows it.
    promises_allowed={"queued": frozenset({"in a moment", "a moment"})},
)
