"""PURE. Which of a few languages a reply is in, told by its little words: enough to see that a lane changed it."""

import re
from collections import Counter
from collections.abc import Mapping

_LISTED = """
en the and you is are to of it that in for with your not can be this have i what
de der die das und ist nicht du ich sie ein eine zu es mit dir dich sind kann auch wenn
fr le la les et est pas vous je tu un une de que dans pour avec ce peut être si
es el los las y es no que de un una en con para por su se puede lo te si
pl nie to jest się w na i że z do jak co czy mi ty ja może są dla o
"""
LITTLE: Mapping[str, frozenset[str]] = {
    name: frozenset(words) for name, *words in (line.split() for line in _LISTED.strip().splitlines())
}
UNKNOWN = "?"
_WORD = re.compile(r"[^\W\d_]+")


def language(text: str) -> str:
    """`en`, `de`, `fr`, `es` or `pl`; `?` where too little was said to tell, or it is another one."""
    words = Counter(word.lower() for word in _WORD.findall(text))
    total = sum(words.values())
    found = {name: sum(words[word] for word in little) for name, little in LITTLE.items()}
    (best, most), (_, next_most) = Counter(found).most_common(2)
    if most < 3 or most == next_most or most / total < 0.12:
        return UNKNOWN
    return best
