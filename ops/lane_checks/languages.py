"""PURE. Detects which of five languages a reply is in, by its common words: enough to see that a lane changed it."""

import re
from collections import Counter
from collections.abc import Mapping

_WORDS_BY_LANGUAGE = """
en the and you is are to of it that in for with your not can be this have i what
de der die das und ist nicht du ich sie ein eine zu es mit dir dich sind kann auch wenn
fr le la les et est pas vous je tu un une de que dans pour avec ce peut être si
es el los las y es no que de un una en con para por su se puede lo te si
pl nie to jest się w na i że z do jak co czy mi ty ja może są dla o
"""
COMMON_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words)
    for name, *words in (line.split() for line in _WORDS_BY_LANGUAGE.strip().splitlines())
}
UNKNOWN = "?"
_WORD = re.compile(r"[^\W\d_]+")


def detect_language(text: str) -> str:
    """Returns `en`, `de`, `fr`, `es` or `pl`; `?` if the text is too short or in another language."""
    words = Counter(word.lower() for word in _WORD.findall(text))
    total = sum(words.values())
    counts = {name: sum(words[word] for word in common) for name, common in COMMON_WORDS.items()}
    (best, most), (_, next_most) = Counter(counts).most_common(2)
    if most < 3 or most == next_most or most / total < 0.12:
        return UNKNOWN
    return best
