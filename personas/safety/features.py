"""PURE. What is weighed in a text: its words, which words stand side by side, and which stand near each other.

Words are weighed by their stem, and words of a class such as `pill` as that class, so that what was learned of one of
them holds for all.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from personas.safety.tokens import STRONG, Tokens

WINDOW_WORDS = 40
"""A longer message is read in pieces of at most so many words."""
SENTENCES_OF_A_PIECE = 3
NEAR_WORDS = 6
"""How many words with a sense apart two words still count as near."""
NUMBER = "0"
CACHED_WORDS = 20_000
_NOT_SINGLE = "ls"

_LIGHT = """
a an the to of in on my me i is am are was were it and that this so just at for with be been do does did have has had
but as if or
"""
LIGHT = frozenset(_LIGHT.split())
"""Words that say too little to be one of two near each other."""


class Name(NamedTuple):
    """How a word is weighed: its stem, its class or else its stem, and whether it says little."""

    stem: str
    name: str
    light: bool


def stem(word: str) -> str:
    """Return a word without its English ending; not a word, only the same for “kill”, “kills” and “killing”."""
    if len(word) > 5 and word.endswith("ing"):
        word = _single(word[:-3])
    elif len(word) > 4 and word.endswith(("ied", "ies")):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith("ed"):
        word = _single(word[:-2])
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _single(word: str) -> str:
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in _NOT_SINGLE else word


class FeatureReader:
    """Names what is weighed. `alike` gives the class of the stems that weigh the same (“tablet” and “capsule”)."""

    def __init__(self, alike: Mapping[str, str]) -> None:
        self._alike = dict(alike)
        self.name_of = lru_cache(CACHED_WORDS)(self._name_of)

    def _name_of(self, written: str) -> Name:
        word = NUMBER if written.isdigit() else stem(written)
        return Name(word, self._alike.get(word, word), written in LIGHT)

    def read(self, tokens: Tokens) -> set[str]:
        """Return the features of a text: “word”, “word word” side by side, “word&word” near each other."""
        features: set[str] = set()
        before = ""
        near: list[str] = []
        for written, brk in zip(tokens.plain, tokens.breaks, strict=True):
            word, name, light = self.name_of(written)
            features.update((word, name))
            if brk >= STRONG:
                before, near = "", []
            elif before:
                features.add(f"{before} {name}")
            before = name
            if not light:
                features.update(join_near(other, name) for other in near)
                near = [*near[-NEAR_WORDS + 1 :], name]
        return features


def join_near(first: str, second: str) -> str:
    """Return the name of two words near each other, in whatever order they stand."""
    return f"{first}&{second}" if first < second else f"{second}&{first}"


def cut_pieces(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield where pieces begin and end: the whole of a short text, or else up to three sentences of a long one."""
    size = len(tokens.plain)
    if size <= WINDOW_WORDS:
        yield 0, size
        return
    starts = [at for at in range(size) if tokens.breaks[at] >= STRONG or at == 0]
    ends = [*starts[1:], size]
    for number, start in enumerate(starts):
        for end in ends[number : number + SENTENCES_OF_A_PIECE]:
            if end - start <= WINDOW_WORDS:
                yield start, end
        for middle in range(start, ends[number] - WINDOW_WORDS // 2, WINDOW_WORDS // 2):
            if ends[number] - start > WINDOW_WORDS:
                yield middle, min(middle + WINDOW_WORDS, ends[number])
