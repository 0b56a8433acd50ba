"""PURE. The lint of a file of safety rules: a pattern must match what it says, and not match everyday words."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from personas.errors import Problem
from personas.safety.patterns import Pattern
from personas.safety.tokens import Tokenizer, Tokens

EVERYDAY = (
    "hello how are you today",
    "i am fine thank you and i had a nice cup of tea",
    "my daughter is coming to see me on sunday and we want to go to the park",
    "i did not sleep very well so i am a bit tired now",
    "what is the weather going to be like tomorrow",
    "i have to take my tablets after breakfast",
    "i want to watch the football tonight with my friend",
    "can you help me write a letter to my mum",
    "hola como esta usted hoy",
    "estoy bien gracias y me tome un cafe con mi hermana",
    "mi hija viene a verme el domingo y queremos ir al parque",
    "anoche no dormi muy bien y ahora tengo un poco de sueno",
    "que tiempo va a hacer manana",
    "tengo que tomar mis pastillas despues del desayuno",
    "quiero ver el partido esta noche con mi amigo",
    "me puede ayudar a escribir una carta para mi mama",
)
"""No rule may match any of these."""


class Finder(Protocol):
    """What finds patterns in a text."""

    patterns: Sequence[Pattern]

    def matching(self, tokens: Tokens) -> set[int]:
        """Return the numbers of all patterns that match."""


def lint(
    *,
    tokenizer: Tokenizer,
    vocabulary: set[str],
    function: frozenset[str],
    finders: Mapping[str, Finder],
) -> list[Problem]:
    """Return what is wrong. No everyday sentence may match a pattern of `rules`."""
    problems = [
        Problem(
            key="words",
            fault=f"“{word}” matches nothing, because it is read as “{_read_as(tokenizer, word)}”",
            mend="write it as it is read",
        )
        for word in sorted(vocabulary)
        if not word.startswith("#") and not _survives(tokenizer, word)
    ]
    for key, finder in finders.items():
        problems += _lint_examples(key, finder, tokenizer)
    problems += lint_everyday(finders["rules"], tokenizer, function)
    return problems


def _survives(tokenizer: Tokenizer, word: str) -> bool:
    words = tokenizer.read(word).words
    return len(words) == 1 and word in words[0]


def _read_as(tokenizer: Tokenizer, word: str) -> str:
    return " ".join(readings[0] if readings else "…" for readings in tokenizer.read(word).words)


def _lint_examples(key: str, finder: Finder, tokenizer: Tokenizer) -> list[Problem]:
    problems = []
    for number, pattern in enumerate(finder.patterns):
        if number not in finder.matching(tokenizer.read(pattern.example())):
            problems.append(
                Problem(
                    key=key,
                    fault=f"“{pattern.text}” matches nothing, not even “{pattern.example()}”",
                    mend="write its words as they are read, and its gaps inside it",
                )
            )
    return problems


def lint_everyday(finder: Finder, tokenizer: Tokenizer, function: frozenset[str]) -> list[Problem]:
    """Return the patterns that match an everyday sentence, or that hold no word with a sense."""
    patterns = finder.patterns
    problems = [
        Problem(
            key="rules",
            fault=f"“{pattern.text}” has only words such as “I” and “to”, so it matches everything",
            mend="give it a word that carries the sense",
        )
        for pattern in patterns
        if all(word in function for word in pattern.example().split())
    ]
    for sentence in EVERYDAY:
        for number in sorted(finder.matching(tokenizer.read(sentence))):
            fault = f"“{patterns[number].text}” matches “{sentence}”"
            problems.append(Problem(key="rules", fault=fault, mend="make it narrower"))
    return problems
