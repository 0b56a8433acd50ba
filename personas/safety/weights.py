"""PURE. Weighs the words of a message: how much they speak, together, of danger.

The weights were learned from the labelled sentences in `tests/safety/` (`learn.py`). A word costs the same
few lookups whatever stands around it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from personas.safety.features import NEAR_WORDS, WINDOW_WORDS, FeatureReader, cut_pieces
from personas.safety.tokens import STRONG, Tokens

MAX_REASONS = 6
BIAS = "(all)"
"""The name of what every message scores before its words are weighed."""


class Weight(NamedTuple):
    """What a word or a pair adds to the score for danger, and to the score for concern (danger or worry)."""

    name: str
    danger: float
    concern: float


class Score(NamedTuple):
    """How much a message speaks of danger, and of danger or worry: above 0 more likely than not."""

    danger: float
    concern: float


class Weigher:
    """Weighs messages."""

    def __init__(self, reader: FeatureReader, weights: Mapping[str, Weight]) -> None:
        self._name_of = reader.name_of
        self._bias = weights.get(BIAS, Weight(BIAS, 0.0, 0.0))
        self._alone: dict[str, Weight] = {}
        self._beside: dict[str, dict[str, Weight]] = {}
        self._near: dict[str, dict[str, Weight]] = {}
        for name, weight in weights.items():
            first, beside, second = name.partition(" ")
            if beside:
                self._beside.setdefault(second, {})[first] = weight
                continue
            first, near, second = name.partition("&")
            if near:
                self._near.setdefault(first, {})[second] = weight
                self._near.setdefault(second, {})[first] = weight
            elif name != BIAS:
                self._alone[name] = weight

    def weigh(self, tokens: Tokens) -> Score:
        """Return the highest scores of the pieces of a message."""
        size = len(tokens.plain)
        dangers, concerns = [0.0] * (size + 1), [0.0] * (size + 1)
        for at, _, danger, concern in self._read(tokens):
            dangers[at + 1] += danger
            concerns[at + 1] += concern
        dangers, concerns = list(accumulate(dangers)), list(accumulate(concerns))
        pieces = list(cut_pieces(tokens))
        return Score(
            self._bias.danger + max([dangers[end] - dangers[start] for start, end in pieces]),
            self._bias.concern + max([concerns[end] - concerns[start] for start, end in pieces]),
        )

    def reasons(self, tokens: Tokens, *, danger: bool) -> list[str]:
        """Return the words and pairs that weigh most in the weightiest piece."""
        read = [
            (at, name, for_danger if danger else both) for at, name, for_danger, both in self._read(tokens)
        ]
        pieces = [
            sorted((-weight, name) for at, name, weight in read if start <= at < end)
            for start, end in cut_pieces(tokens)
        ]
        heaviest = min(pieces, key=lambda piece: sum(weight for weight, _ in piece))
        return [name for weight, name in heaviest[:MAX_REASONS] if weight < 0]

    def _read(self, tokens: Tokens) -> Iterator[tuple[int, str, float, float]]:
        """Yield the place of each word, and what is weighed there: its name and weights.

        What was weighed a few words ago is not weighed again.
        """
        alone, beside, near, name_of = self._alone, self._beside, self._near, self._name_of
        breaks, nothing = tokens.breaks, dict[str, Weight]()
        seen: dict[str, int] = {}
        before, recent = "", list[str]()
        for at, written in enumerate(tokens.plain):
            word, name, light = name_of(written)
            if breaks[at] >= STRONG:
                before, recent = "", []
            found = [alone[word]] if word in alone else []
            if name != word and name in alone:
                found.append(alone[name])
            if before in (after := beside.get(name, nothing)):
                found.append(after[before])
            before = name
            if not light:
                if others := near.get(name):
                    found += [others[other] for other in recent if other in others]
                recent = [*recent[-NEAR_WORDS + 1 :], name]
            for weighed, danger, concern in found:
                if at - seen.get(weighed, -WINDOW_WORDS) >= WINDOW_WORDS:
                    seen[weighed] = at
                    yield at, weighed, danger, concern


def read_weights(text: str) -> dict[str, Weight]:
    """Read lines of a name, the weight for danger and the weight for concern, parted by tabs. Raises ValueError."""
    weights = {}
    for line in text.splitlines():
        if line and not line.startswith("# "):
            name, danger, concern = line.split("\t")
            weights[name] = Weight(name, float(danger or 0), float(concern or 0))
    return weights


def digest_of(text: str) -> str:
    """Return 6 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]
