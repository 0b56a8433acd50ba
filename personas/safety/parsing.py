"""PURE. Reads the patterns of a file of safety rules, and collects everything that is wrong with them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from personas.errors import Problem, SafetyInvalid
from personas.safety.contexts import Guard, Role
from personas.safety.findings import NOTHING, Finding, ReplyFinding, Tier
from personas.safety.patterns import Pattern, PatternInvalid, PatternReader, read_classes
from personas.safety.replies import ReplyRule
from personas.safety.rules import MessageRule
from personas.safety.schema import PatternRule, RulesFile

CONTEXT_CLASSES = (
    *("negators", "subjects", "function", "people", "turns", "connectors", "first_person", "reporters"),
    *("present", "never_in_gap"),
)
"""Classes of single words that every file must have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedRules:
    """The patterns of a file, each with what it means."""

    messages: list[MessageRule]
    replies: list[ReplyRule]
    contexts: list[tuple[Role, Pattern]]
    asks_if_human: list[Pattern]
    goodbye: list[Pattern]
    no_goodbye: list[Pattern]
    courtesy: list[Pattern]
    single: dict[str, frozenset[str]]
    """The words of each of CONTEXT_CLASSES."""


def parse_rules(path: Path, document: RulesFile) -> ParsedRules:
    """Read every pattern of a document. Raises SafetyInvalid with each fault; `path` is named in it."""
    try:
        parser = _Parser(document)
    except PatternInvalid as fault:
        raise SafetyInvalid(path, (Problem(key="words", fault=fault.fault, mend=fault.mend),)) from None
    parsed = ParsedRules(
        single=parser.read_single_words(),
        contexts=parser.read_contexts(),
        messages=parser.read_message_rules(),
        replies=parser.read_reply_rules(),
        asks_if_human=parser.read_patterns("asks_if_human", document.asks_if_human),
        goodbye=parser.read_patterns("goodbye", document.goodbye),
        no_goodbye=parser.read_patterns("no_goodbye", document.no_goodbye),
        courtesy=parser.read_patterns("courtesy", document.courtesy),
    )
    if parser.problems:
        raise SafetyInvalid(path, tuple(parser.problems))
    return parsed


class _Parser:
    """Reads the parts of one document. What cannot be read is left out and noted in `problems`."""

    def __init__(self, document: RulesFile) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._classes = read_classes(document.words)
        self._patterns = PatternReader(self._classes)

    def read_single_words(self) -> dict[str, frozenset[str]]:
        single = {}
        for name in CONTEXT_CLASSES:
            phrases = self._classes.get(name)
            if phrases is None:
                self.problems.append(Problem(key=f"words.{name}", fault="is missing", mend="add it"))
                phrases = frozenset()
            single[name] = frozenset(phrase[0] for phrase in phrases if len(phrase) == 1)
        return single

    def read_patterns(self, key: str, rows: Iterable[str]) -> list[Pattern]:
        patterns = []
        for row in rows:
            try:
                patterns += self._patterns.read_row(row)
            except PatternInvalid as fault:
                self.problems.append(Problem(key=key, fault=fault.fault, mend=fault.mend))
        return patterns

    def read_contexts(self) -> list[tuple[Role, Pattern]]:
        written = self._document.contexts
        rows = {
            Role.IDIOM: written.idioms,
            Role.STORY: written.stories,
            Role.PAST: written.past,
            Role.DENIAL: written.denials,
            Role.NO_NEGATION: written.no_negation,
        }
        return [
            (role, pattern)
            for role, patterns in rows.items()
            for pattern in self.read_patterns(f"contexts ({role})", patterns)
        ]

    def read_message_rules(self) -> list[MessageRule]:
        document, rules = self._document, []
        for rule in self._check_rules(document.rules, document.kinds, "rules"):
            past = document.kinds[rule.kind].past
            if past is not None and past not in document.kinds:
                self.problems.append(
                    Problem(key=f"kinds.{rule.kind}", fault=f"“{past}” is no kind", mend="add that kind")
                )
                continue
            finding = _make_finding(document, rule.kind, rule)
            if_past = _make_finding(document, past, rule) if past else NOTHING
            rules += [
                MessageRule(
                    pattern=pattern,
                    finding=finding,
                    if_past=if_past,
                    apart_from=frozenset(map(Guard, rule.even_if)),
                )
                for pattern in self.read_patterns(f"rules.{rule.id}", rule.patterns)
            ]
        return rules

    def read_reply_rules(self) -> list[ReplyRule]:
        kinds = self._document.reply_kinds
        return [
            ReplyRule(
                pattern=pattern,
                finding=ReplyFinding(
                    severity=kinds[rule.kind].severity, rule=rule.id, why=rule.why, kind=rule.kind
                ),
                apart_from=frozenset(map(Guard, rule.even_if)),
            )
            for rule in self._check_rules(self._document.replies, kinds, "replies")
            for pattern in self.read_patterns(f"replies.{rule.id}", rule.patterns)
        ]

    def _check_rules(
        self, rules: Iterable[PatternRule], kinds: Iterable[str], where: str
    ) -> list[PatternRule]:
        known, usable, seen = set(kinds), [], set()
        for rule in rules:
            key = f"{where}.{rule.id}"
            if rule.kind not in known:
                fault = f"its kind “{rule.kind}” is not in the list of kinds"
                self.problems.append(Problem(key=key, fault=fault, mend="add the kind, or mend it"))
            elif rule.id in seen:
                self.problems.append(Problem(key=key, fault="is there twice", mend="rename one of the two"))
            else:
                usable.append(rule)
            seen.add(rule.id)
        return usable


def _make_finding(document: RulesFile, kind: str, rule: PatternRule) -> Finding:
    declared = document.kinds[kind]
    tier = Tier[declared.tier.upper()]
    return Finding(tier=tier, rule=rule.id, why=rule.why, kind=kind, about_staff=declared.about_staff)
