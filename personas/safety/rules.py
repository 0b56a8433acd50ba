"""PURE. The rules, ready to read messages and replies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from personas.safety.automaton import MAX_MATCHES, Automaton
from personas.safety.contexts import Contexts, ContextWords, Guard, Role
from personas.safety.findings import BROKEN_RULE, NOTHING, Finding, Tier
from personas.safety.patterns import Pattern
from personas.safety.tokens import Tokenizer, Tokens
from personas.safety.weights import Score, Weigher

TOO_MANY = "too-many-matches"
WEIGHED_WORDS = "weighed-words"


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


@dataclass(frozen=True, kw_only=True, slots=True)
class WeighedWords:
    """From which scores words alone show a line or raise a flag, and from which the match of a pattern counts."""

    weigher: Weigher
    version: str
    """Tells these weights from others."""
    line_from: float
    flag_from: float
    pattern_line_from: float
    pattern_flag_from: float
    line: Finding
    line_of_staff: Finding
    flag: Finding
    staff: frozenset[str]

    def is_everyday(self, tier: Tier, score: Score) -> bool:
        """Whether the words of a message weigh too little for a pattern of this tier."""
        if tier is Tier.RED:
            return score.danger < self.pattern_line_from
        return score.concern < self.pattern_flag_from

    def read(self, tokens: Tokens, score: Score) -> Finding:
        """Return a finding, or NOTHING."""
        if score.danger >= self.line_from:
            return self.line if self.staff.isdisjoint(tokens.plain) else self.line_of_staff
        return self.flag if score.concern >= self.flag_from else NOTHING

    def explain(self, tokens: Tokens, score: Score) -> Iterator[Explanation]:
        """Yield why a message is heavy enough, if it is."""
        finding = self.read(tokens, score)
        if finding.tier is not Tier.NONE:
            reasons = self.weigher.reasons(tokens, danger=finding.tier is Tier.RED)
            yield Explanation(
                finding=finding, rule=finding.rule, why=finding.why, pattern=", ".join(reasons), guard=None
            )


class MessageReader:
    """Reads what participants write: its patterns in their contexts, and the weights of its words."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        rules: Sequence[MessageRule],
        automaton: Automaton,
        contexts: ContextMaterial,
        weighed: WeighedWords | None,
    ) -> None:
        self._tokenizer = tokenizer
        self._weighed = weighed
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
        score = self._weighed.weigher.weigh(tokens) if self._weighed else None
        found = list(islice(self._weigh(tokens, self._automaton.scan(tokens).ends, score), MAX_MATCHES))
        if self._weighed and score:
            found += self._weighed.explain(tokens, score)
        return sorted(found, key=lambda one: -one.finding.tier)

    def _judge(self, text: str) -> Finding:
        tokens = self._tokenizer.read(text)
        score = self._weighed.weigher.weigh(tokens) if self._weighed else None
        found = self._automaton.scan(tokens)
        best = NOTHING
        for explanation in islice(self._weigh(tokens, found.ends, score), MAX_MATCHES):
            if explanation.finding.tier > best.tier:
                best = explanation.finding
                if best.tier is Tier.RED:
                    return best
        if self._weighed and score:
            best = max(best, self._weighed.read(tokens, score), key=lambda finding: finding.tier)
        if best.tier < Tier.AMBER and (found.cut or len(found.ends) > MAX_MATCHES):
            why = "More signals than are looked at one by one."
            return Finding(tier=Tier.AMBER, rule=TOO_MANY, kind=TOO_MANY, why=why)
        return best

    def _weigh(
        self, tokens: Tokens, ends: Sequence[tuple[int, int]], score: Score | None
    ) -> Iterator[Explanation]:
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
            if guard is None and Guard.EVERYDAY not in rule.apart_from and self._weighed and score:
                guard = Guard.EVERYDAY if self._weighed.is_everyday(rule.finding.tier, score) else None
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
