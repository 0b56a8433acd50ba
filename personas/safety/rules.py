"""PURE. The rules, ready to read messages and replies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from personas.safety.automaton import MAX_MATCHES, Automaton
from personas.safety.contexts import Contexts, ContextWords, Guard, Role
from personas.safety.findings import BROKEN_RULE, NOTHING, Finding, Tier
from personas.safety.patterns import Pattern
from personas.safety.tokens import Tokenizer, Tokens

TOO_MANY = "too-many-matches"


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageRule:
    """One pattern with what it means."""

    pattern: Pattern
    finding: Finding
    if_past: Finding = NOTHING
    apart_from: frozenset[Guard] = frozenset()

    @property
    def order(self) -> tuple[int, bool]:
        """The most serious first; among equals those about staff, which ring for more people."""
        return -self.finding.tier, not self.finding.about_staff


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """One match of a rule, for `manage.py check_safety`: with its pattern, and what took the danger out of it."""

    finding: Finding
    rule: str
    why: str
    pattern: str
    guard: Guard | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextMaterial:
    """What every reader needs to judge a match: the patterns of contexts, their roles, and single words."""

    automaton: Automaton
    roles: Sequence[Role]
    words: ContextWords


class MessageReader:
    """Reads what participants write."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        rules: Sequence[MessageRule],
        automaton: Automaton,
        contexts: ContextMaterial,
    ) -> None:
        self._tokenizer = tokenizer
        self._rules = rules
        self._automaton = automaton
        self._contexts = contexts

    def read(self, text: str) -> Finding:
        """Return the most serious finding. Never raises: a rule that breaks counts as amber."""
        try:
            return self._judge(text)
        except Exception:
            return Finding(
                tier=Tier.AMBER,
                rule=BROKEN_RULE,
                kind=BROKEN_RULE,
                why="A rule could not be applied to this message.",
                broken=True,
            )

    def explain(self, text: str) -> list[Explanation]:
        """Return the matches of rules, the most serious first; at most MAX_MATCHES."""
        tokens = self._tokenizer.read(text)
        found = islice(self._weigh(tokens, self._automaton.scan(tokens).ends), MAX_MATCHES)
        return sorted(found, key=lambda one: -one.finding.tier)

    def _judge(self, text: str) -> Finding:
        tokens = self._tokenizer.read(text)
        found = self._automaton.scan(tokens)
        best = NOTHING
        for explanation in islice(self._weigh(tokens, found.ends), MAX_MATCHES):
            if explanation.finding.tier > best.tier:
                best = explanation.finding
                if best.tier is Tier.RED:
                    break
        if best.tier < Tier.AMBER and (found.cut or len(found.ends) > MAX_MATCHES):
            why = "More signals than are looked at one by one."
            return Finding(tier=Tier.AMBER, rule=TOO_MANY, kind=TOO_MANY, why=why)
        return best

    def _weigh(self, tokens: Tokens, ends: Sequence[tuple[int, int]]) -> Iterator[Explanation]:
        """Yield the matches of the most serious rules first, and of rules that are alike by their place."""
        if not ends:
            return
        rules, material = self._rules, self._contexts
        around = material.automaton.scan(tokens).ends
        spans = [material.automaton.locate(tokens, number, end) for number, end in around]
        contexts = Contexts(tokens, material.words, material.roles, spans)
        for number, end in sorted(ends, key=lambda one: (rules[one[0]].order, one[1])):
            rule = rules[number]
            match = self._automaton.locate(tokens, number, end)
            guard = contexts.guard_of(match, apart_from=rule.apart_from)
            finding = rule.finding if guard is None else rule.if_past if guard is Guard.PAST else NOTHING
            yield Explanation(
                finding=finding,
                rule=rule.finding.rule,
                why=rule.finding.why,
                pattern=rule.pattern.text,
                guard=guard,
            )


class PhraseReader:
    """Says whether a text has one of a few patterns."""

    def __init__(self, tokenizer: Tokenizer, automaton: Automaton) -> None:
        self._tokenizer = tokenizer
        self._automaton = automaton

    def matches(self, text: str) -> bool:
        """Whether any pattern matches."""
        return bool(self._automaton.scan(self._tokenizer.read(text)).ends)
