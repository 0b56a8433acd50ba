"""PURE. The lint of drafted lines, for readers who are tired or frightened, by the rules of their language."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import regex

from personas import english, spanish
from personas.reading import average_syllables, split_sentences, split_words
from personas.wording_rules import WordingRules

Violation = tuple[str, str, str]
"""The sentence, the rule it breaks, and how to mend it."""

MIN_WORDS_TO_MEASURE = 10
"""Below this a readability measure says little: "I am a computer program." would be school grade 5.2."""
MIN_WORDS_TO_AVERAGE = 4

RULES: Mapping[str, WordingRules] = MappingProxyType({"en": english.RULES, "es": spanish.RULES})
"""By language. A language without rules of its own cannot be checked, so its file is refused."""

REQUIRED_PLACEHOLDER = {
    "safety_told": "{helpline}",
    "safety_untold": "{helpline}",
    "person_joins": "{name}",
    "person_leaves": "{name}",
    "person_lost": "{name}",
    "person_writing": "{name}",
    "help_untold": "{helpline}",
    "help_untold_outside": "{helpline}",
    "or_text": "{number}",
    "writing_to_person": "{name}",
    "is_this_you": "{name}",
}

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


def lint(lines: Mapping[str, str], language: str = "en") -> list[LintFinding]:
    """Return every violation in a set of drafted lines, in the order of the lines. Raises KeyError: no such rules."""
    return [finding for key, line in lines.items() for finding in lint_line(key, line, language)]


def lint_line(key: str, line: str, language: str = "en") -> list[LintFinding]:
    """Return every violation in one drafted line; `key` selects the exceptions. Raises KeyError: no such rules."""
    rules = RULES[language]
    checks = (
        _check_length(line, rules),
        _check_reading(line, rules),
        _check_phrases(line, rules),
        _check_address(line, rules),
        _check_time_and_place(key, line, rules),
        _check_goodbye(key, line, rules),
        _check_characters(line),
        _check_placeholders(key, line),
    )
    return [
        LintFinding(key=key, sentence=sentence, rule=rule, mend=mend)
        for check in checks
        for sentence, rule, mend in check
    ]


def _check_length(line: str, rules: WordingRules) -> Iterator[Violation]:
    for sentence in split_sentences(line):
        count = len(split_words(sentence))
        if count > rules.max_words:
            yield (
                sentence,
                f"{count} words in a sentence, at most {rules.max_words}",
                "make two sentences of it",
            )


def _check_reading(line: str, rules: WordingRules) -> Iterator[Violation]:
    # Every longer sentence is measured alone too, so that easy sentences cannot hide a hard one.
    for text in dict.fromkeys([line, *split_sentences(line)]):
        if len(split_words(text)) >= MIN_WORDS_TO_MEASURE:
            if hard := rules.explain_hard(text):
                yield text, hard, "use shorter words and sentences"
        elif text == line:
            yield from _check_short_line(line, rules)


def _check_short_line(line: str, rules: WordingRules) -> Iterator[Violation]:
    words = split_words(line)
    longest = max(words, key=rules.count_syllables, default="")
    if longest and rules.count_syllables(longest) > rules.max_syllables:
        yield line, f"the word “{longest}” is hard to read", "use a shorter word"
    elif len(words) >= MIN_WORDS_TO_AVERAGE and (
        average_syllables(words, rules.count_syllables) > rules.max_mean_syllables
    ):
        rule = f"more than {rules.max_mean_syllables} syllables a word in a short line"
        yield line, rule, "use shorter words"


def _check_phrases(line: str, rules: WordingRules) -> Iterator[Violation]:
    for sentence in split_sentences(line):
        for word in _find_phrases(rules.technical, sentence):
            yield sentence, f"says “{word}”, which is never said", "say what happened to them, not the cause"
        for phrase in _find_phrases(rules.unkind, sentence):
            yield sentence, f"says “{phrase}”, which is never said", "say it without orders, blame or jokes"


def _check_address(line: str, rules: WordingRules) -> Iterator[Violation]:
    for sentence in split_sentences(line):
        for word in _find_phrases(rules.address, sentence):
            yield sentence, f"says “{word}” to the reader", "address the reader as every other line does"
        if rules.guesses and rules.guesses.search(sentence):
            yield sentence, "splits readers into men and women", "word it so that it fits every reader"


def _check_time_and_place(key: str, line: str, rules: WordingRules) -> Iterator[Violation]:
    allowed = rules.promises_allowed.get(key, frozenset())
    for sentence in split_sentences(line):
        promised = [phrase for phrase in _find_phrases(rules.promises, sentence) if phrase not in allowed]
        if promised or rules.time_span.search(sentence):
            yield sentence, "promises a time", "leave it out: a time is said only if a person has set one"
        if re.search(r"\d", sentence):
            yield sentence, "holds a number", "leave numbers out: they read as a time or a place in a queue"
        if _find_phrases(rules.places, sentence):
            yield sentence, "names a place in a queue", "leave the place out: it can go backwards"


def _check_goodbye(key: str, line: str, rules: WordingRules) -> Iterator[Violation]:
    if key != "goodbye":
        return
    if "?" in line:
        yield line, "asks a question in a goodbye", "let them go: end without a question"
    for hook in _find_phrases(rules.hooks, line):
        yield line, f"holds on to them with “{hook}” in a goodbye", "let them go without a reason to stay"


def _check_characters(line: str) -> Iterator[Violation]:
    if _EMOJI.search(line) or _EMOTICON.search(line):
        yield line, "holds an emoji", "say it in words"
    if any(not char.isprintable() and char != "\n" for char in line):
        yield line, "holds a sign that cannot be seen", "type the line again"


def _check_placeholders(key: str, line: str) -> Iterator[Violation]:
    required = REQUIRED_PLACEHOLDER.get(key)
    if required and required not in line:
        yield line, f"does not name {required}", f"say {required} where it belongs"
    for braces in _BRACES.findall(line):
        if braces != required:
            yield line, f"{braces} has no meaning in this line", "write the words themselves"


def _find_phrases(phrases: tuple[str, ...], text: str) -> list[str]:
    """Return the phrases that the text contains as whole words, in any case and with any apostrophe."""
    plain = text.lower().replace("\u2019", "'")
    # Most phrases are nowhere in the text, which is seen much sooner than where a word ends.
    present = [phrase for phrase in phrases if phrase in plain]
    return [phrase for phrase in present if re.search(rf"(?<![\w'-]){re.escape(phrase)}(?![\w'-])", plain)]
