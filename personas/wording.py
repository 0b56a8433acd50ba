"""PURE. The lint of drafted lines: what a tired or frightened reader must be able to read, and never has to.

A line is graded as a whole, and every sentence of ten words or more is graded alone too, so that easy
neighbours cannot carry a hard one. Below ten words the formula swings wildly ("I am a computer program."
would be grade 5.2), so there the rule is: no word of four syllables, and from four words on at most 1.6 syllables a
word.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import regex

from personas.never import HOOKS, NUMBERS, PLACES, PROMISES, TECHNICAL, UNKIND
from personas.reading import grade, mean_syllables, sentences, syllables, words

MOST_WORDS = 13
HIGHEST_GRADE = 5.0
FEWEST_WORDS_TO_GRADE = 10
FEWEST_WORDS_TO_MEAN = 4
MOST_SYLLABLES_A_WORD = 1.6
LONGEST_SYLLABLES = 3

REQUIRED_PLACEHOLDER = {
    "safety_told": "{helpline}",
    "safety_untold": "{helpline}",
    "person_joins": "{name}",
    "person_leaves": "{name}",
}

# The queued line may say it: the wait ceiling is short, and the line that says "try again" follows.
_PROMISES_ALLOWED = {"queued": {"in a moment", "a moment"}}

_TIME_SPAN = re.compile(rf"\b({'|'.join(NUMBERS)}|an?)\s+(of\s+)?(second|minute|min|hour|day)s?\b", re.I)
_EMOJI = regex.compile(r"\p{Extended_Pictographic}|\p{Regional_Indicator}|\uFE0F|\u20E3")
_EMOTICON = re.compile(r"(?:^|\s)[:;=][-']?[()DPp|/\\](?:\s|$)|<3")
_BRACES = re.compile(r"\{[^}]*\}?|\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line that breaks one rule, with the sentence it stands in and how to mend it."""

    key: str
    sentence: str
    rule: str
    mend: str


def lint(lines: Mapping[str, str]) -> list[Finding]:
    """Every breach of the wording rules in a set of drafted lines, in the order of the lines."""
    return [finding for key, line in lines.items() for finding in lint_line(key, line)]


def lint_line(key: str, line: str) -> list[Finding]:
    """Every breach of the wording rules in one drafted line; `key` decides the few exceptions."""
    checks = (_length, _reading_grade, _never, _time_and_place, _goodbye, _signs, _placeholders)
    return [
        Finding(key=key, sentence=sentence, rule=rule, mend=mend)
        for check in checks
        for sentence, rule, mend in check(key, line)
    ]


_Breach = tuple[str, str, str]


def _length(_key: str, line: str) -> Iterator[_Breach]:
    for sentence in sentences(line):
        count = len(words(sentence))
        if count > MOST_WORDS:
            yield sentence, f"{count} words in a sentence, at most {MOST_WORDS}", "make two sentences of it"


def _reading_grade(_key: str, line: str) -> Iterator[_Breach]:
    for text in dict.fromkeys([line, *sentences(line)]):
        heard = words(text)
        if len(heard) >= FEWEST_WORDS_TO_GRADE:
            if (reached := grade(text)) > HIGHEST_GRADE:
                rule = f"school grade {reached:.1f}, at most {HIGHEST_GRADE:g}"
                yield text, rule, "use shorter words and sentences"
        elif text == line:
            yield from _short_line(line, heard)


def _short_line(line: str, heard: list[str]) -> Iterator[_Breach]:
    longest = max(heard, key=syllables, default="")
    if longest and syllables(longest) > LONGEST_SYLLABLES:
        yield line, f"the word “{longest}” is hard to read", "use a shorter word"
    elif len(heard) >= FEWEST_WORDS_TO_MEAN and mean_syllables(heard) > MOST_SYLLABLES_A_WORD:
        yield line, f"more than {MOST_SYLLABLES_A_WORD} syllables a word in a short line", "use shorter words"


def _never(_key: str, line: str) -> Iterator[_Breach]:
    for sentence in sentences(line):
        for word in _found(TECHNICAL, sentence):
            yield sentence, f"says “{word}”, which is never said", "say what happened to them, not the cause"
        for phrase in _found(UNKIND, sentence):
            yield sentence, f"says “{phrase}”, which is never said", "say it without orders, blame or jokes"


def _time_and_place(key: str, line: str) -> Iterator[_Breach]:
    allowed = _PROMISES_ALLOWED.get(key, set())
    for sentence in sentences(line):
        promised = [phrase for phrase in _found(PROMISES, sentence) if phrase not in allowed]
        if promised or _TIME_SPAN.search(sentence):
            yield sentence, "promises a time", "leave it out: a time is said only if a person has set one"
        if re.search(r"\d", sentence):
            yield sentence, "holds a number", "leave numbers out: they read as a time or a place in a queue"
        if _found(PLACES, sentence):
            yield sentence, "names a place in a queue", "leave the place out: it can go backwards"


def _goodbye(key: str, line: str) -> Iterator[_Breach]:
    if key != "goodbye":
        return
    if "?" in line:
        yield line, "asks a question in a goodbye", "let them go: end without a question"
    for hook in _found(HOOKS, line):
        yield line, f"holds on to them with “{hook}” in a goodbye", "let them go without a reason to stay"


def _signs(_key: str, line: str) -> Iterator[_Breach]:
    if _EMOJI.search(line) or _EMOTICON.search(line):
        yield line, "holds an emoji", "say it in words"
    if any(not char.isprintable() and char != "\n" for char in line):
        yield line, "holds a sign that cannot be seen", "type the line again"


def _placeholders(key: str, line: str) -> Iterator[_Breach]:
    required = REQUIRED_PLACEHOLDER.get(key)
    if required and required not in line:
        yield line, f"does not name {required}", f"say {required} where it belongs"
    for braces in _BRACES.findall(line):
        if braces != required:
            yield line, f"{braces} has no meaning in this line", "write the words themselves"


def _found(phrases: tuple[str, ...], text: str) -> list[str]:
    """The phrases that stand in the text as whole words, whatever their case and apostrophe."""
    plain = text.lower().replace("\u2019", "'")
    return [phrase for phrase in phrases if re.search(rf"(?<![\w'-]){re.escape(phrase)}(?![\w'-])", plain)]
