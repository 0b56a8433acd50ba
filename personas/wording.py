"""PURE. The lint of drafted lines, for readers who are tired or frightened.

A line is graded as a whole, and every sentence of ten words or more is graded alone too, so that easy
sentences cannot hide a hard one. Below ten words the formula is unreliable ("I am a computer program."
would be grade 5.2), so there the rule is: no word of four syllables, and from four words on at most 1.6 syllables a
word.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import regex

from personas.never import HOOKS, NUMBERS, PLACES, PROMISES, TECHNICAL, UNKIND
from personas.reading import average_syllables, count_syllables, grade, split_sentences, split_words

MAX_WORDS = 13
MAX_GRADE = 5.0
MIN_WORDS_TO_GRADE = 10
MIN_WORDS_TO_AVERAGE = 4
MAX_MEAN_SYLLABLES = 1.6
MAX_SYLLABLES = 3

REQUIRED_PLACEHOLDER = {
    "safety_told": "{helpline}",
    "safety_untold": "{helpline}",
    "person_joins": "{name}",
    "person_leaves": "{name}",
    "person_lost": "{name}",
    "person_writing": "{name}",
    "help_untold": "{helpline}",
    "or_text": "{number}",
    "writing_to_person": "{name}",
    "is_this_you": "{name}",
}

# Allowed in the queued line: the wait ceiling is short, and "try again" follows it.
_PROMISES_ALLOWED = {"queued": {"in a moment", "a moment"}}

_TIME_SPAN = re.compile(rf"\b({'|'.join(NUMBERS)}|an?)\s+(of\s+)?(second|minute|min|hour|day)s?\b", re.I)
_EMOJI = regex.compile(r"\p{Extended_Pictographic}|\p{Regional_Indicator}|\uFE0F|\u20E3")
_EMOTICON = re.compile(r"(?:^|\s)[:;=][-']?[()DPp|/\\](?:\s|$)|<3")
_BRACES = re.compile(r"\{[^}]*\}?|\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LintFinding:
    """One violation of a rule, with the sentence that contains it and how to mend it."""

    key: str
    sentence: str
    rule: str
    mend: str


def lint(lines: Mapping[str, str]) -> list[LintFinding]:
    """Return every violation in a set of drafted lines, in the order of the lines."""
    return [finding for key, line in lines.items() for finding in lint_line(key, line)]


def lint_line(key: str, line: str) -> list[LintFinding]:
    """Return every violation in one drafted line; `key` selects the exceptions."""
    checks = (
        _check_length,
        _check_grade,
        _check_phrases,
        _check_time_and_place,
        _check_goodbye,
        _check_characters,
        _check_placeholders,
    )
    return [
        LintFinding(key=key, sentence=sentence, rule=rule, mend=mend)
        for check in checks
        for sentence, rule, mend in check(key, line)
    ]


_Violation = tuple[str, str, str]


def _check_length(_key: str, line: str) -> Iterator[_Violation]:
    for sentence in split_sentences(line):
        count = len(split_words(sentence))
        if count > MAX_WORDS:
            yield sentence, f"{count} words in a sentence, at most {MAX_WORDS}", "make two sentences of it"


def _check_grade(_key: str, line: str) -> Iterator[_Violation]:
    for text in dict.fromkeys([line, *split_sentences(line)]):
        spoken_words = split_words(text)
        if len(spoken_words) >= MIN_WORDS_TO_GRADE:
            if (reached := grade(text)) > MAX_GRADE:
                rule = f"school grade {reached:.1f}, at most {MAX_GRADE:g}"
                yield text, rule, "use shorter words and sentences"
        elif text == line:
            yield from _check_short_line(line, spoken_words)


def _check_short_line(line: str, spoken_words: list[str]) -> Iterator[_Violation]:
    longest = max(spoken_words, key=count_syllables, default="")
    if longest and count_syllables(longest) > MAX_SYLLABLES:
        yield line, f"the word “{longest}” is hard to read", "use a shorter word"
    elif len(spoken_words) >= MIN_WORDS_TO_AVERAGE and average_syllables(spoken_words) > MAX_MEAN_SYLLABLES:
        yield line, f"more than {MAX_MEAN_SYLLABLES} syllables a word in a short line", "use shorter words"


def _check_phrases(_key: str, line: str) -> Iterator[_Violation]:
    for sentence in split_sentences(line):
        for word in _find_phrases(TECHNICAL, sentence):
            yield sentence, f"says “{word}”, which is never said", "say what happened to them, not the cause"
        for phrase in _find_phrases(UNKIND, sentence):
            yield sentence, f"says “{phrase}”, which is never said", "say it without orders, blame or jokes"


def _check_time_and_place(key: str, line: str) -> Iterator[_Violation]:
    allowed = _PROMISES_ALLOWED.get(key, set())
    for sentence in split_sentences(line):
        promised = [phrase for phrase in _find_phrases(PROMISES, sentence) if phrase not in allowed]
        if promised or _TIME_SPAN.search(sentence):
            yield sentence, "promises a time", "leave it out: a time is said only if a person has set one"
        if re.search(r"\d", sentence):
            yield sentence, "holds a number", "leave numbers out: they read as a time or a place in a queue"
        if _find_phrases(PLACES, sentence):
            yield sentence, "names a place in a queue", "leave the place out: it can go backwards"


def _check_goodbye(key: str, line: str) -> Iterator[_Violation]:
    if key != "goodbye":
        return
    if "?" in line:
        yield line, "asks a question in a goodbye", "let them go: end without a question"
    for hook in _find_phrases(HOOKS, line):
        yield line, f"holds on to them with “{hook}” in a goodbye", "let them go without a reason to stay"


def _check_characters(_key: str, line: str) -> Iterator[_Violation]:
    if _EMOJI.search(line) or _EMOTICON.search(line):
        yield line, "holds an emoji", "say it in words"
    if any(not char.isprintable() and char != "\n" for char in line):
        yield line, "holds a sign that cannot be seen", "type the line again"


def _check_placeholders(key: str, line: str) -> Iterator[_Violation]:
    required = REQUIRED_PLACEHOLDER.get(key)
    if required and required not in line:
        yield line, f"does not name {required}", f"say {required} where it belongs"
    for braces in _BRACES.findall(line):
        if braces != required:
            yield line, f"{braces} has no meaning in this line", "write the words themselves"


def _find_phrases(phrases: tuple[str, ...], text: str) -> list[str]:
    """Return the phrases that the text contains as whole words, in any case and with any apostrophe."""
    plain = text.lower().replace("\u2019", "'")
    return [phrase for phrase in phrases if re.search(rf"(?<![\w'-]){re.escape(phrase)}(?![\w'-])", plain)]
