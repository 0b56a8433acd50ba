"""PURE. Matches all patterns at once over a text, whole or in pieces, in time proportional to the text.

Each place of each pattern is one bit of a number (shift-and). A word costs the same few operations on those numbers
however many patterns are under way, so no text can make it slow.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from personas.safety.patterns import Element, Pattern, Phrase
from personas.safety.tokens import STRONG, WEAK, Tokens

MAX_FOUND = 3_000
"""More matches of rules than this in one text are not found; the caller is told."""
MAX_MATCHES = 150
"""So many matches, the most serious, are looked at one by one."""
MAX_CONTEXTS = 60
"""More contexts than this are not looked at, which can only raise a tier."""


@dataclass(slots=True)
class _Node:
    """A word of a phrase. `mask` has the bits of places whose phrase ends here; `fresh` those that begin a pattern."""

    children: dict[str, "_Node"] = field(default_factory=dict)
    mask: int = 0
    fresh: int = 0
    fresh_at_start: int = 0


@dataclass(frozen=True, slots=True)
class Match:
    """Pattern number `pattern` covers the words from `start` to before `end`."""

    pattern: int
    start: int
    end: int


@dataclass(slots=True)
class Found:
    """What a scan found: (number of the pattern, end), by end. `cut`: there were more than are looked at."""

    ends: list[tuple[int, int]] = field(default_factory=list)
    cut: bool = False


class Automaton:
    """All patterns, compiled.

    `never_in_gap` are words that no gap crosses; `connectors` begin a new clause. After `max_matches` in one text the
    scanner keeps no more, and says so.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        *,
        never_in_gap: frozenset[str],
        connectors: frozenset[str],
        max_matches: int = MAX_FOUND,
    ) -> None:
        self.max_matches = max_matches
        self.never_in_gap = never_in_gap
        self.connectors = connectors
        self.root = _Node()
        self.patterns = patterns
        self.bases: list[int] = []
        self.gaps = 0
        self.optional = 0
        self.accept = 0
        self.accept_at_end = 0
        self.pattern_of_bit: dict[int, int] = {}
        starts, starts_at_start = self._lay_out()
        self.accept_any = self.accept | self.accept_at_end
        self._mark_fresh(self.root, self.close(starts) << 1, self.close(starts_at_start) << 1)

    def _lay_out(self) -> tuple[int, int]:
        base = starts = starts_at_start = 0
        # Places that are written alike have the same phrases, so each phrase takes in their bits once for all of them.
        masks: dict[str, int] = {}
        elements: dict[str, Element] = {}
        for number, pattern in enumerate(self.patterns):
            self.bases.append(base)
            for place, element in enumerate(pattern.elements, 1):
                bit = 1 << (base + place)
                if element.optional:
                    self.optional |= bit
                if element.gap:
                    self.gaps |= bit
                masks[element.text] = masks.get(element.text, 0) | bit
                elements[element.text] = element
            if pattern.at_start:
                starts_at_start |= 1 << base
            else:
                starts |= 1 << base
            last = base + len(pattern.elements)
            self.pattern_of_bit[last] = number
            if pattern.at_end:
                self.accept_at_end |= 1 << last
            else:
                self.accept |= 1 << last
            base = last + 1
        bits_of: dict[Phrase, int] = {}
        for text, element in elements.items():
            mask = masks[text]
            for phrase in element.phrases:
                bits_of[phrase] = bits_of.get(phrase, 0) | mask
        for phrase, bits in bits_of.items():
            self._node_of(phrase).mask = bits
        return starts, starts_at_start

    def _node_of(self, phrase: Phrase) -> _Node:
        node = self.root
        for word in phrase:
            child = node.children.get(word)
            if child is None:
                child = node.children[word] = _Node()
            node = child
        return node

    def _mark_fresh(self, node: _Node, started: int, started_at_start: int) -> None:
        node.fresh = node.mask & started
        node.fresh_at_start = node.mask & started_at_start
        for child in node.children.values():
            self._mark_fresh(child, started, started_at_start)

    def close(self, state: int) -> int:
        """Pass over optional places: adding a seed to a run of ones carries it through to the end of the run."""
        optional = self.optional
        seeds = (state << 1) & optional
        if not seeds:
            return state
        return state | seeds | ((optional + seeds) ^ optional) & optional

    def vocabulary(self) -> set[str]:
        """Every word that a pattern names."""
        words: set[str] = set()
        nodes = [self.root]
        while nodes:
            node = nodes.pop()
            words.update(node.children)
            nodes.extend(node.children.values())
        return words

    def scan(self, tokens: Tokens) -> Found:
        """Find the matches of all patterns in the order of their ends."""
        scanner = Scanner(self, tokens)
        scanner.advance(final=True)
        return Found(scanner.matches, scanner.cut)

    def matching(self, tokens: Tokens) -> set[int]:
        """Return the numbers of all patterns that match."""
        return {number for number, _ in self.scan(tokens).ends}

    def locate(self, tokens: Tokens, number: int, end: int) -> Match:
        """Return a match with its start."""
        return Match(number, start_of(self.patterns[number], tokens, end), end)

    def clause_begins(self, tokens: Tokens, at: int) -> bool:
        """Whether a clause begins at this word: after a break, or after a word such as “and”."""
        return at == 0 or tokens.breaks[at] >= WEAK or not self.connectors.isdisjoint(tokens.words[at - 1])

    def clause_ends(self, tokens: Tokens, at: int) -> bool:
        """Whether a clause ends before this word."""
        return (
            at >= len(tokens.words)
            or tokens.breaks[at] >= WEAK
            or not self.connectors.isdisjoint(tokens.words[at])
        )


class Scanner:
    """Reads words as they come. `advance` takes in the words added to `tokens` since it was last called."""

    def __init__(self, automaton: Automaton, tokens: Tokens) -> None:
        self._automaton = automaton
        self._tokens = tokens
        self._position = 0
        self._state = 0
        self._open: list[tuple[int, int, _Node]] = []
        self.matches: list[tuple[int, int]] = []
        """(number of the pattern, end) in the order of their ends."""
        self.cut = False

    def advance(self, *, final: bool) -> None:
        """Read on. Without `final` a clause is not taken to end at the last word."""
        automaton, tokens, root = self._automaton, self._tokens, self._automaton.root
        never, gaps = automaton.never_in_gap, automaton.gaps
        state, open_phrases = self._state, self._open
        for at in range(self._position, len(tokens.words)):
            readings = tokens.words[at]
            if tokens.breaks[at] >= STRONG:
                state, open_phrases = 0, []
            shifted = state << 1
            reached = shifted & gaps
            if reached and not never.isdisjoint(readings):
                reached = 0
            if not readings:
                open_phrases = []
            else:
                open_phrases.append((shifted, at, root))
                still_open = []
                for began, start, node in open_phrases:
                    for word in readings:
                        child = node.children.get(word)
                        if child is None:
                            continue
                        if child.mask:
                            reached |= (began & child.mask) | child.fresh
                            if child.fresh_at_start and automaton.clause_begins(tokens, start):
                                reached |= child.fresh_at_start
                        if child.children:
                            still_open.append((began, start, child))
                open_phrases = still_open
            state = automaton.close(reached) if reached else 0
            if state:
                self._accept(state, at + 1, final)
        self._state, self._open = state, open_phrases
        self._position = len(tokens.words)

    def peek(self, more: Tokens) -> list[Match]:
        """Return the matches that these words would end, without taking them in."""
        tokens, size, known = self._tokens, len(self._tokens.words), len(self.matches)
        before = (self._state, list(self._open), self.cut)
        tokens.extend(more)
        self.advance(final=True)
        found = self.located(known)
        tokens.cut(size)
        del self.matches[known:]
        self._position = size
        self._state, self._open, self.cut = before
        return found

    def located(self, first: int = 0) -> list[Match]:
        """Return the matches from number `first` on, with their starts."""
        return [self._automaton.locate(self._tokens, number, end) for number, end in self.matches[first:]]

    def _accept(self, state: int, end: int, final: bool) -> None:
        automaton = self._automaton
        ended = state & automaton.accept_any
        if not ended:
            return
        accepted = ended & automaton.accept
        at_end = ended & automaton.accept_at_end
        known = end < len(self._tokens.words) or final
        if at_end and known and automaton.clause_ends(self._tokens, end):
            accepted |= at_end
        while accepted:
            bit = accepted & -accepted
            accepted ^= bit
            if len(self.matches) >= automaton.max_matches:
                self.cut = True
                return
            number = automaton.pattern_of_bit[bit.bit_length() - 1]
            self.matches.append((number, end))


def start_of(pattern: Pattern, tokens: Tokens, end: int) -> int:
    """Return the latest word from which a pattern leads to `end`, which it is known to reach."""
    positions = {end}
    for element in reversed(pattern.elements):
        earlier = set(positions) if element.optional else set()
        for position in positions:
            if element.gap:
                earlier.add(position - 1)
                continue
            for length in element.lengths:
                if _stands_at(element, tokens, position - length, length):
                    earlier.add(position - length)
        positions = earlier
    return max((position for position in positions if position >= 0), default=end - 1)


def _stands_at(element: Element, tokens: Tokens, start: int, length: int) -> bool:
    if start < 0:
        return False
    if length == 1:
        return any((word,) in element.phrases for word in tokens.words[start])
    return any(
        phrase in element.phrases for phrase in itertools.product(*tokens.words[start : start + length])
    )
