"""PURE. Reads a pattern: a row of words and classes of words, with gaps.

word            this word
@name           any word or phrase of a class
a|@b|c          one of these
x?              x or nothing
a_b|c           the words a b, or c
~3              up to three words that do not turn the sense: no negation, no other subject
<  and  >       only where a clause begins, and only where it ends
"""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

Phrase = tuple[str, ...]

MAX_PHRASES_OF_A_CLASS = 8000
_WORD = re.compile(r"[a-z0-9#]+(?:_[a-z0-9]+)*")
_GAP = re.compile(r"~([1-9])")
_PLAIN_ENTRY = re.compile(r"[a-z0-9#]+(?:[_ ][a-z0-9#]+)*")


class PatternInvalid(ValueError):
    """A pattern or a class cannot be used. The text is (fault, mend)."""

    def __init__(self, fault: str, mend: str) -> None:
        self.fault, self.mend = fault, mend
        super().__init__(f"{fault}. To mend it: {mend}.")


@dataclass(frozen=True, eq=False)
class Element:
    """One place of a pattern: any of the phrases, or any one word where `gap` is set.

    Places that are written alike are one object.
    """

    text: str
    phrases: frozenset[Phrase]
    optional: bool = False
    gap: bool = False

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many words its phrases have."""
        return tuple(sorted(set(map(len, self.phrases))))


_GAP_OF_ONE_WORD = Element("~1", frozenset(), optional=True, gap=True)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as it was written, and as rows of elements."""

    text: str
    elements: tuple[Element, ...]
    at_start: bool
    at_end: bool

    def example(self) -> str:
        """Return the shortest text that it matches."""
        words: list[str] = []
        for element in self.elements:
            if not element.optional:
                words += _find_shortest(element.phrases)
        return " ".join({"#": "5", "#many": "50", "#year": "2010"}.get(word, word) for word in words)


@cache
def _find_shortest(phrases: frozenset[Phrase]) -> Phrase:
    # Cached: large classes stand in hundreds of patterns.
    return min(phrases, key=lambda phrase: (len(phrase), phrase))


Classes = Mapping[str, frozenset[Phrase]]


def read_classes(written: Mapping[str, str]) -> dict[str, frozenset[Phrase]]:
    """Read classes of words: phrases parted by commas or lines; `@name` takes in another class that stands above."""
    classes: dict[str, frozenset[Phrase]] = {}
    for name, text in written.items():
        phrases: set[Phrase] = set()
        for entry in re.split(r"[,\n]", text):
            if entry := entry.strip():
                phrases |= _read_entry(entry, classes)
        if not phrases:
            raise PatternInvalid(f"the class “{name}” is empty", "write its words, or take it out")
        if len(phrases) > MAX_PHRASES_OF_A_CLASS:
            raise PatternInvalid(f"the class “{name}” has too many phrases", "part it in two")
        classes[name] = frozenset(phrases)
    return classes


def _read_entry(entry: str, classes: Classes) -> set[Phrase]:
    if _PLAIN_ENTRY.fullmatch(entry):
        return {tuple(entry.replace("_", " ").split())}
    parts: list[frozenset[Phrase]] = []
    for part in entry.split():
        optional = part.endswith("?")
        phrases = _read_choices(part.removesuffix("?"), classes)
        parts.append(phrases | {()} if optional else phrases)
    rows = {tuple(itertools.chain.from_iterable(row)) for row in itertools.product(*parts)}
    if () in rows:
        raise PatternInvalid(f"“{entry}” matches the empty text", "take out one question mark")
    return rows


class PatternReader:
    """Reads rows of patterns. Places that are written alike are read once."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._elements: dict[str, Element] = {}

    def read_row(self, row: str) -> list[Pattern]:
        """Read one row. Its last place may be a choice with `>` in it: the end of a clause, or one of the words."""
        head, _, last = row.rpartition(" ")
        choices = last.split("|")
        if len(choices) > 1 and ">" in choices:
            rest = "|".join(choice for choice in choices if choice != ">")
            bare = " ".join(_without_last_gaps(head.split()))
            return [self.read(f"{bare} >"), self.read(f"{head} {rest}")]
        return [self.read(row)]

    def read(self, text: str) -> Pattern:
        """Read one pattern. Raises PatternInvalid where it would match nothing, everything or the empty text."""
        elements: list[Element] = []
        parts = text.split()
        at_start, at_end = parts[:1] == ["<"], parts[-1:] == [">"]
        for part in parts[at_start : len(parts) - at_end]:
            if gap := _GAP.fullmatch(part):
                elements += [_GAP_OF_ONE_WORD] * int(gap[1])
            else:
                elements.append(self._read_element(part))
        if not any(not element.optional for element in elements):
            raise PatternInvalid(f"“{text}” matches the empty text", "give it a word that must be there")
        if elements[0].gap or elements[-1].gap:
            raise PatternInvalid(f"“{text}” begins or ends with a gap", "take the gap out")
        return Pattern(text, tuple(elements), at_start, at_end)

    def _read_element(self, part: str) -> Element:
        element = self._elements.get(part)
        if element is None:
            phrases = _read_choices(part.removesuffix("?"), self._classes)
            element = self._elements[part] = Element(part, phrases, optional=part.endswith("?"))
        return element


def _without_last_gaps(parts: list[str]) -> list[str]:
    while parts and _GAP.fullmatch(parts[-1]):
        parts = parts[:-1]
    return parts


def _read_choices(part: str, classes: Classes) -> frozenset[Phrase]:
    choices: list[frozenset[Phrase]] = []
    for choice in part.split("|"):
        if choice.startswith("@"):
            if choice[1:] not in classes:
                raise PatternInvalid(
                    f"“{choice}” names no class", "write the class above it, or mend its spelling"
                )
            choices.append(classes[choice[1:]])
        elif _WORD.fullmatch(choice):
            choices.append(frozenset({tuple(choice.split("_"))}))
        else:
            raise PatternInvalid(
                f"“{choice}” matches nothing: words are read in small letters, without signs",
                "write it as it is read, such as “do not” for “don't”",
            )
    return choices[0] if len(choices) == 1 else frozenset().union(*choices)
