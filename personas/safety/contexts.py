"""PURE. What takes the danger out of a match: idiom, negation, a story, a quotation, the past."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from personas.safety.automaton import Match
from personas.safety.tokens import STRONG, WEAK, Tokens

NEGATION_WORDS = 4
"""How far before a match a negation is looked for."""
WORDS_TO_STORY_BEHIND = 3
"""How far behind a match a story may be named (“… in the game”)."""
CONTEXT_WORDS = 10
"""How far from a match a word that sets it in a story or in the past is looked for."""


class Role(StrEnum):
    """What a pattern of a context is for."""

    IDIOM = "idiom"
    STORY = "story"
    PAST = "past"
    DENIAL = "denial"
    NO_NEGATION = "no_negation"


class Guard(StrEnum):
    """Why a match does not count as it stands."""

    IDIOM = "idiom"
    NEGATED = "negated"
    STORY = "story"
    PAST = "past"
    EVERYDAY = "everyday"
    """The words of the whole message weigh too little for what the pattern says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextWords:
    """Classes of words that the contexts need."""

    negators: frozenset[str]
    subjects: frozenset[str]
    function: frozenset[str]
    people: frozenset[str]
    turns: frozenset[str]
    """Words after which the writer speaks of themselves and of now again."""
    connectors: frozenset[str]
    first_person: frozenset[str]
    present: frozenset[str]
    """Words that say that something is now, so that a time in the past does not end it."""
    reporters: frozenset[str]
    """Words that announce a quotation."""


class Contexts:
    """The contexts of one text: where its idioms, stories and times stand."""

    def __init__(
        self, tokens: Tokens, words: ContextWords, roles: Sequence[Role], spans: Sequence[Match]
    ) -> None:
        self._tokens = tokens
        self._words = words
        size = len(tokens.words)
        self._idiom = bytearray(size)
        self._no_negation = bytearray(size)
        self._around: dict[Role, list[Match]] = {Role.STORY: [], Role.PAST: [], Role.DENIAL: []}
        for match in spans:
            role = roles[match.pattern]
            if role is Role.IDIOM:
                self._idiom[match.start : match.end] = b"\1" * (match.end - match.start)
            elif role is Role.NO_NEGATION:
                self._no_negation[match.start : match.end] = b"\1" * (match.end - match.start)
            else:
                self._around[role].append(match)

    def guard_of(self, match: Match, *, apart_from: frozenset[Guard]) -> Guard | None:
        """Return what takes the danger out of a match, if anything does."""
        if self._is_idiom(match):
            return Guard.IDIOM
        checks = (
            (Guard.NEGATED, self._is_negated),
            (Guard.STORY, self._is_told),
            (Guard.PAST, self._is_past),
        )
        return next((guard for guard, check in checks if guard not in apart_from and check(match)), None)

    def _has(self, at: int, among: frozenset[str]) -> bool:
        return not among.isdisjoint(self._tokens.words[at])

    def _is_idiom(self, match: Match) -> bool:
        """Whether idioms cover every word of the match that carries its sense."""
        covered = False
        for at in range(match.start, match.end):
            if self._idiom[at]:
                covered = True
            elif self._tokens.words[at] and not self._is_light(at):
                return False
        return covered

    def _is_light(self, at: int) -> bool:
        """Whether a word carries no sense of its own, or only says who does something."""
        return self._has(at, self._words.function) or self._has(at, self._words.people)

    def _is_negated(self, match: Match) -> bool:
        tokens = self._tokens
        if any(
            match.start <= denial.end <= match.start + 1 and self._is_joined(denial, match)
            for denial in self._around[Role.DENIAL]
        ):
            return True
        if self._has(match.start, self._words.subjects):
            return False
        for at in range(match.start - 1, max(-1, match.start - 1 - NEGATION_WORDS), -1):
            if tokens.breaks[at + 1] >= WEAK or self._has(at, self._words.subjects) or self._is_turn(at):
                return False
            if self._has(at, self._words.negators) and not self._no_negation[at]:
                return True
        return False

    def _is_joined(self, first: Match, second: Match) -> bool:
        """Whether no sentence ends between two matches, and no turn back to the writer's own present."""
        early, late = (first, second) if first.start <= second.start else (second, first)
        return not any(
            self._tokens.breaks[at + 1] >= STRONG or self._is_turn(at)
            for at in range(early.end - 1, late.start)
            if at >= early.end or self._tokens.breaks[at + 1] >= STRONG
        )

    def _is_turn(self, at: int) -> bool:
        if self._has(at, self._words.turns):
            return True
        joins = self._has(at, self._words.connectors) and at + 1 < len(self._tokens.words)
        return joins and self._has(at + 1, self._words.first_person)

    def _near(self, role: Role, match: Match) -> Iterator[Match]:
        for context in self._around[role]:
            apart = max(context.start - match.end, match.start - context.end)
            if apart <= CONTEXT_WORDS and self._is_joined(context, match):
                yield context

    def _is_told(self, match: Match) -> bool:
        return any(
            self._tells(context, match) for context in self._near(Role.STORY, match)
        ) or self._is_quoted(match)

    def _tells(self, story: Match, match: Match) -> bool:
        """Whether a story contains a match. What the writer says of themselves needs a word such as “says” between."""
        if story.start >= match.end:
            return story.start - match.end <= WORDS_TO_STORY_BEHIND
        if not self._has(match.start, self._words.first_person) or match.start - story.end <= 1:
            return True
        return any(self._has(at, self._words.reporters) for at in range(story.start, match.start))

    def _is_past(self, match: Match) -> bool:
        present = any(self._has(at, self._words.present) for at in range(match.start, match.end))
        return any(
            not present or 0 <= match.start - context.end <= 1 for context in self._near(Role.PAST, match)
        )

    def _is_quoted(self, match: Match) -> bool:
        """Whether the match stands in quotation marks that a word such as “says” or “called” announces."""
        quoted = self._tokens.quoted
        if not all(quoted[match.start : match.end]):
            return False
        opened = match.start
        while opened > 0 and quoted[opened - 1]:
            opened -= 1
        return any(self._has(at, self._words.reporters) for at in range(max(0, opened - 4), opened))
