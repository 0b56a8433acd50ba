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

Phrase = tuple[str, ...]

MAX_GAP = 8
MAX_PHRASES_OF_A_CLASS = 8000
_WORD = re.compile(r"[a-z0-9#]+(?:_[a-z0-9]+)*")
_GAP = re.compile(r"~([1-9])")


class PatternInvalid(ValueError):
    """A pattern or a class cannot be used. The text is (fault, mend)."""

    def __init__(self, fault: str, mend: str) -> None:
        self.fault, self.mend = fault, mend
        super().__init__(f"{fault}. To mend it: {mend}.")


@dataclass(frozen=True, slots=True)
class Element:
    """One place of a pattern: any of `phrases`, or any one word where `gap` is set."""

    phrases: frozenset[Phrase]
    optional: bool = False
    gap: bool = False
    lengths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as it was written, and as rows of elements."""

    text: str
    elements: tuple[Element, ...]
    at_start: bool
    at_end: bool

    @property
    def longest(self) -> int:
        """Most words that it can cover."""
        return sum(max(map(len, element.phrases), default=1) for element in self.elements)

    def example(self) -> str:
        """Return the shortest text that it matches."""
        words: list[str] = []
        for element in self.elements:
            if not element.optional:
                shortest: Phrase = min(sorted(element.phrases), key=len)
                words += shortest
        return " ".join({"#": "5", "#many": "50", "#year": "2010"}.get(word, word) for word in words)


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
    parts: list[frozenset[Phrase]] = []
    for part in entry.split():
        optional = part.endswith("?")
        phrases = _read_choice(part.removesuffix("?"), classes)
        parts.append(phrases | {()} if optional else phrases)
    rows = {tuple(itertools.chain.from_iterable(row)) for row in itertools.product(*parts)}
    if () in rows:
        raise PatternInvalid(f"“{entry}” matches the empty text", "take out one question mark")
    return rows


def read_patterns(row: str, classes: Classes) -> list[Pattern]:
    """Read one row. Its last place may be a choice with `>` in it: the end of a clause, or one of the words."""
    head, _, last = row.rpartition(" ")
    choices = last.split("|")
    if len(choices) > 1 and ">" in choices:
        rest = "|".join(choice for choice in choices if choice != ">")
        bare = " ".join(_without_last_gaps(head.split()))
        return [read_pattern(f"{bare} >", classes), read_pattern(f"{head} {rest}", classes)]
    return [read_pattern(row, classes)]


def _without_last_gaps(parts: list[str]) -> list[str]:
    while parts and _GAP.fullmatch(parts[-1]):
        parts = parts[:-1]
    return parts


def read_pattern(text: str, classes: Classes) -> Pattern:
    """Read one pattern. Raises PatternInvalid where it would match nothing, everything or the empty text."""
    elements: list[Element] = []
    parts = text.split()
    at_start, at_end = parts[:1] == ["<"], parts[-1:] == [">"]
    for part in parts[at_start : len(parts) - at_end]:
        if gap := _GAP.fullmatch(part):
            elements += [Element(frozenset(), optional=True, gap=True)] * int(gap[1])
            continue
        optional = part.endswith("?")
        phrases = _read_choice(part.removesuffix("?"), classes)
        lengths = tuple(sorted(set(map(len, phrases))))
        elements.append(Element(phrases, optional=optional, lengths=lengths))
    if not any(not element.optional for element in elements):
        raise PatternInvalid(f"“{text}” matches the empty text", "give it a word that must be there")
    if elements[0].gap or elements[-1].gap:
        raise PatternInvalid(f"“{text}” begins or ends with a gap", "take the gap out")
    return Pattern(text, tuple(elements), at_start, at_end)


def _read_choice(part: str, classes: Classes) -> frozenset[Phrase]:
    phrases: set[Phrase] = set()
    for choice in part.split("|"):
        if choice.startswith("@"):
            if choice[1:] not in classes:
                raise PatternInvalid(
                    f"“{choice}” names no class", "write the class above it, or mend its spelling"
                )
            phrases |= classes[choice[1:]]
        elif _WORD.fullmatch(choice):
            phrases.add(tuple(choice.split("_")))
        else:
            raise PatternInvalid(
                f"“{choice}” matches nothing: words are read in small letters, without signs",
                "write it as it is read, such as “do not” for “don't”",
            )
    return frozenset(phrases)
