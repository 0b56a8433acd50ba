"""PURE. Matches all patterns over a whole text: by places in the text, not word by word.

The places of a word in the text are the bits of one number, and so are the places that the beginning of a pattern has
reached. Patterns that begin alike share their beginning, and a beginning that reaches no place is not followed: the
time depends on how many beginnings occur, and hardly on the length of the text. `automaton.py` matches the same
patterns word by word, for texts that come in pieces.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from personas.safety.automaton import Match
from personas.safety.patterns import Element, Pattern, Phrase
from personas.safety.tokens import STRONG, Tokens


@dataclass(slots=True)
class _Words:
    """A word of phrases of several words: what may stand behind it, and the choices whose phrase ends with it."""

    behind: dict[str, "_Words"] = field(default_factory=dict)
    choices: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Step:
    """One place of all patterns that are alike up to here. `gap`: how many words it may skip."""

    element: Element
    gap: int = 0
    numbers: list[int] = field(default_factory=list)
    """Patterns that end here."""
    numbers_at_end: list[int] = field(default_factory=list)
    """Patterns that end here, where a clause ends too."""
    behind: dict[str, "_Step"] = field(default_factory=dict)


class TextMatcher:
    """All patterns, ready to match whole texts.

    `never_in_gap` are words that no gap crosses; `connectors` begin a new clause.
    """

    def __init__(
        self, patterns: Sequence[Pattern], *, never_in_gap: frozenset[str], connectors: frozenset[str]
    ) -> None:
        self.patterns = patterns
        self.never_in_gap = never_in_gap
        self.connectors = connectors
        self.choices_of: dict[str, list[str]] = {}
        """The choices of which a word is a phrase."""
        self.longer: dict[str, list[tuple[Phrase, str]]] = {}
        """The phrases of several words with the choice that each belongs to, by their first word."""
        self._behind: dict[str, dict[str, _Words]] = {}
        self.first: dict[str, list[_Step]] = {}
        """The first places of patterns by their choices."""
        self.first_at_start: dict[str, list[_Step]] = {}
        """The same of patterns that begin where a clause begins."""
        self._lay_out_words()
        anywhere, at_start = _Step(Element("", {})), _Step(Element("", {}))
        for number, pattern in enumerate(patterns):
            _lay_out(number, pattern, at_start if pattern.at_start else anywhere)
        for root, first in ((anywhere, self.first), (at_start, self.first_at_start)):
            for step in root.behind.values():
                for choice in step.element.choices:
                    first.setdefault(choice, []).append(step)

    def _lay_out_words(self) -> None:
        choices: dict[str, frozenset[Phrase]] = {}
        for pattern in self.patterns:
            for element in pattern.elements:
                choices |= element.choices
        single, longer = self.choices_of, self.longer
        for choice, phrases in choices.items():
            for phrase in phrases:
                if len(phrase) == 1:
                    single.setdefault(phrase[0], []).append(choice)
                    continue
                longer.setdefault(phrase[0], []).append((phrase, choice))

    def vocabulary(self) -> set[str]:
        """Every word that a pattern names."""
        phrases = {phrase for rows in self.longer.values() for phrase, _ in rows}
        return set(self.choices_of).union(*phrases)

    def behind(self, word: str) -> dict[str, _Words]:
        """What may stand behind the first word of a phrase. It is made ready when the word is first read."""
        behind = self._behind.get(word)
        if behind is None:
            behind = {}
            for phrase, choice in self.longer[word]:
                following = behind
                for next_word in phrase[1:]:
                    words = following.setdefault(next_word, _Words())
                    following = words.behind
                words.choices.append(choice)
            self._behind[word] = behind
        return behind

    def find(self, tokens: Tokens) -> "Matches":
        """Find the matches of all patterns."""
        return Matches(self, tokens)

    def matching(self, tokens: Tokens) -> set[int]:
        """Return the numbers of all patterns that match."""
        return set(self.find(tokens).ends)


class Matches:
    """The matches of one text. Place n is bit n: it stands before word n."""

    def __init__(self, matcher: TextMatcher, tokens: Tokens) -> None:
        self._matcher = matcher
        self._known: dict[str, tuple[int, tuple[tuple[int, int], ...]]] = {}
        self._read_breaks(tokens)
        self._read_words(tokens)
        self.ends: dict[int, int] = {}
        """The places at which each pattern ends, by its number."""
        everywhere = (1 << len(tokens.words)) - 1
        self._follow(self._begin(matcher.first), everywhere)
        self._follow(self._begin(matcher.first_at_start), everywhere & self._clause_begins)

    def _read_breaks(self, tokens: Tokens) -> None:
        never, connectors = self._matcher.never_in_gap, self._matcher.connectors
        strong = crossing = broken = joined = 0
        bit = 1
        for readings, brk in zip(tokens.words, tokens.breaks, strict=True):
            if brk:
                broken |= bit
                if brk >= STRONG:
                    strong |= bit
            for word in readings:
                if word in never:
                    crossing |= bit
                if word in connectors:
                    joined |= bit
            bit <<= 1
        self._inside = ~strong
        """Where a pattern may go on: no sentence ends there."""
        self._passable = (bit - 1) & ~(strong | crossing)
        """Where a gap may skip the next word."""
        self._clause_begins = broken | joined << 1 | 1
        self._clause_ends = broken | joined | bit

    def _read_words(self, tokens: Tokens) -> None:
        """Find where the phrases of each choice begin: of one word, and by their length of several."""
        places: dict[str, int] = {}
        longer: dict[str, dict[int, int]] = {}
        starts = self._matcher.longer
        open_phrases: list[tuple[int, int, dict[str, _Words]]] = []
        bit = 1
        for readings, brk in zip(tokens.words, tokens.breaks, strict=True):
            still_open: list[tuple[int, int, dict[str, _Words]]] = []
            for word in readings:
                places[word] = places.get(word, 0) | bit
                if word in starts:
                    still_open.append((bit, 1, self._matcher.behind(word)))
                if brk < STRONG:
                    for begun, length, behind in open_phrases:
                        if node := behind.get(word):
                            for choice in node.choices:
                                lengths = longer.setdefault(choice, {})
                                lengths[length + 1] = lengths.get(length + 1, 0) | begun
                            if node.behind:
                                still_open.append((begun, length + 1, node.behind))
            open_phrases = still_open
            bit <<= 1
        single: dict[str, int] = {}
        choices_of = self._matcher.choices_of
        for word, bits in places.items():
            for choice in choices_of.get(word, ()):
                single[choice] = single.get(choice, 0) | bits
        self._single, self._longer = single, longer
        self._present, self._present_longer = set(single), set(longer)

    def _begin(self, first: dict[str, list[_Step]]) -> Iterable[_Step]:
        """Return the first places of which a choice occurs."""
        steps = {
            id(step): step
            for choices in (self._single, self._longer)
            for choice in choices
            for step in first.get(choice, ())
        }
        return steps.values()

    def _starts(self, element: Element) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Where phrases of an element begin: of one word, and (length, places) of several."""
        known = self._known.get(element.text)
        if known is None:
            bits = 0
            lengths: dict[int, int] = {}
            for choice in element.names & self._present:
                bits |= self._single[choice]
            for choice in element.names & self._present_longer:
                for length, places in self._longer[choice].items():
                    lengths[length] = lengths.get(length, 0) | places
            known = self._known[element.text] = bits, tuple(lengths.items())
        return known

    def _follow(self, first: Iterable[_Step], places: int) -> None:
        """Follow all patterns from these places on."""
        inside, passable, ends = self._inside, self._passable, self.ends
        occurring = self._present | self._present_longer
        todo = [(step, self._leads_to(step.element, places, 0)) for step in first]
        while todo:
            step, reached = todo.pop()
            if not reached:
                continue
            for number in step.numbers:
                ends[number] = ends.get(number, 0) | reached
            if step.numbers_at_end and (ended := reached & self._clause_ends):
                for number in step.numbers_at_end:
                    ends[number] = ends.get(number, 0) | ended
            onward = reached & inside
            for next_step in step.behind.values():
                if next_step.gap:
                    passed = skipped = reached
                    for _ in range(next_step.gap):
                        passed = (passed & passable) << 1
                        skipped |= passed
                    todo.append((next_step, skipped))
                    continue
                element = next_step.element
                if not element.names.isdisjoint(occurring):
                    todo.append((next_step, self._leads_to(element, onward, reached)))
                elif element.optional:
                    todo.append((next_step, reached))

    def _leads_to(self, element: Element, places: int, reached: int) -> int:
        single, longer = self._starts(element)
        ends = (places & single) << 1
        for length, bits in longer:
            ends |= (places & bits) << length
        return ends | reached if element.optional else ends

    def in_order(self, numbers: Iterable[int]) -> Iterator[Match]:
        """Yield the matches of these patterns, of those in `ends`, in the order of their ends."""
        entries = [(number, self.ends[number]) for number in sorted(numbers)]
        union = 0
        for _, bits in entries:
            union |= bits
        while union:
            bit = union & -union
            union ^= bit
            for number, bits in entries:
                if bits & bit:
                    yield self.locate(number, bit.bit_length() - 1)

    def locate(self, number: int, end: int) -> Match:
        """Return a match with the latest start that leads to its end."""
        pattern = self._matcher.patterns[number]
        places = 1 << end
        starts = 0
        may_begin = self._clause_begins if pattern.at_start else -1
        for element, is_first in zip(reversed(pattern.elements), reversed(pattern.may_be_first), strict=True):
            if element.gap:
                places |= (places >> 1) & self._passable
                continue
            single, longer = self._starts(element)
            before = (places >> 1) & single
            for length, bits in longer:
                before |= (places >> length) & bits
            if is_first:
                starts |= before & may_begin
            before &= self._inside
            places = places | before if element.optional else before
        return Match(number, starts.bit_length() - 1 if starts else end - 1, end)


def _lay_out(number: int, pattern: Pattern, root: _Step) -> None:
    """Add a pattern to the steps behind `root`, once for each place with which it may begin."""
    for first, may_be_first in enumerate(pattern.may_be_first):
        if not may_be_first:
            continue
        step, gap = root, 0
        for place, element in enumerate(pattern.elements[first:]):
            if element.gap:
                gap += 1
                continue
            if gap:
                step = _step_behind(step, f"~{gap}", element, gap)
                gap = 0
            if place == 0 and element.optional:
                element = element.required
            step = _step_behind(step, element.text, element, 0)
        (step.numbers_at_end if pattern.at_end else step.numbers).append(number)


def _step_behind(step: _Step, key: str, element: Element, gap: int) -> _Step:
    behind = step.behind.get(key)
    if behind is None:
        behind = step.behind[key] = _Step(element, gap)
    return behind
