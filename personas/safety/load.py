"""Reads a file of safety rules and makes it ready, or reports the file, the key and the mend."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from personas.documents import read_document
from personas.errors import Problem, SafetyInvalid
from personas.safety.automaton import MAX_CONTEXTS, MAX_FOUND, Automaton
from personas.safety.contexts import ContextWords, Guard, Role
from personas.safety.farewells import FarewellReader
from personas.safety.features import FeatureReader, stem
from personas.safety.findings import NOTHING, Finding, ReplyFinding, Tier
from personas.safety.lint import lint, lint_everyday
from personas.safety.patterns import Pattern, PatternInvalid, PatternReader, read_classes
from personas.safety.replies import LINK, PHONE_NUMBER, ReplyMaterial, ReplyReader, ReplyRule
from personas.safety.rules import (
    WEIGHED_WORDS,
    ContextMaterial,
    Explanation,
    MessageReader,
    MessageRule,
    PhraseReader,
    WeighedWords,
)
from personas.safety.schema import PatternRule, RulesFile
from personas.safety.spelling import Spelling
from personas.safety.tokens import Ambiguous, Tokenizer
from personas.safety.weights import Weigher, digest_of, read_weights
from validation.phrases import Phrases, explain_error

FOLDER = Path(__file__).parent
REAL_WORDS = {"en": FOLDER / "real_words.txt", "es": FOLDER / "real_words.es.txt"}
"""Common words of each language, which are never taken for a slip."""
WEIGHTS = {"en": FOLDER / "en.weights.tsv"}
"""What words weigh, for each language with sentences enough to learn it from."""
STAFF = "staff"
"""The class of `alike` whom a flag may be about."""
MIN_LETTERS_OF_AN_EXPANSION = 4
"""From this length on, a contraction such as “gonna” is found with a slip in it."""
CONTEXT_CLASSES = (
    *("negators", "subjects", "function", "people", "turns", "connectors", "first_person", "reporters"),
    *("present", "never_in_gap"),
)
"""Classes of single words that every file must have."""

_PHRASES: Phrases = {
    "extra_forbidden": ("is not a key of a file of safety rules", "take it out, or mend its spelling")
}


class SafetyRules:
    """The rules of one language. Reading never raises and keeps no text."""

    def __init__(self, document: RulesFile, compiled: "_Compiled") -> None:
        weights = WEIGHTS.get(document.language) if document.weighing else None
        self.version = f"{document.version}-{digest_of(weights)[:6]}" if weights else document.version
        self.owner, self.approver, self.review_by = document.owner, document.approver, document.review_by
        self.second_reading = document.second_reading
        self._messages = MessageReader(
            compiled.tokenizer,
            compiled.message_rules,
            compiled.messages,
            compiled.contexts,
            compiled.weighed,
        )
        self._tokenizer, self._features = compiled.tokenizer, compiled.features
        self._replies = compiled.replies
        self._human = PhraseReader(compiled.tokenizer, compiled.human)
        self._farewells = FarewellReader(
            goodbye=PhraseReader(compiled.tokenizer, compiled.goodbye),
            no_goodbye=PhraseReader(compiled.tokenizer, compiled.no_goodbye),
            courtesy=PhraseReader(compiled.tokenizer, compiled.courtesy),
        )

    def read_message(self, text: str) -> Finding:
        """Return the most serious finding in what a participant wrote. A rule that breaks counts as amber."""
        return self._messages.read(text)

    def explain_message(self, text: str) -> list[Explanation]:
        """Return every match with its pattern and what guards it, the most serious first."""
        return self._messages.explain(text)

    def read_features(self, text: str) -> set[str]:
        """Return what is weighed in a text."""
        return self._features.read(self._tokenizer.read(text))

    def reply_reader(self) -> ReplyReader:
        """Return a reader for one reply that comes in pieces."""
        return ReplyReader(self._replies)

    def read_reply(self, text: str, start: int = 0) -> ReplyFinding | None:
        """Return a finding in a reply: a stop before a flag. What ends before character `start` was read earlier."""
        reader = self.reply_reader()
        if text[start : start + 1].isalnum():
            # A word that goes on is read as a whole.
            start = text.rfind(" ", 0, start) + 1
        if start:
            reader.skip(text[:start])
        return reader.feed(text[start:]) or reader.finish()

    def asks_if_human(self, text: str) -> bool:
        """Whether a participant asks if they are talking to a person."""
        return self._human.matches(text)

    def is_farewell(self, text: str) -> bool:
        """Whether a participant takes leave and says nothing else but thanks."""
        return self._farewells.is_whole(text)

    def bars_farewell(self, text: str) -> bool:
        """Whether a word of `no_goodbye` stands in the text."""
        return self._farewells.is_barred(text)

    def ends_with_farewell(self, text: str) -> bool:
        """Whether a participant takes leave in the last sentence, whatever stands before it."""
        return self._farewells.is_at_end(text)


@cache
def load(language: str = "en") -> SafetyRules:
    """Load the rules that ship for a language, once in a process. Raises SafetyInvalid."""
    return load_file(FOLDER / f"{language}.toml")


@cache
def name_kinds(language: str = "en") -> Mapping[str, str]:
    """What staff read for each kind of the rules that ship for a language, read once. Raises SafetyInvalid."""
    document = _read_file(FOLDER / f"{language}.toml")
    of_messages = {kind: declared.name for kind, declared in document.kinds.items()}
    of_replies = {kind: declared.name for kind, declared in document.reply_kinds.items()}
    return MappingProxyType(of_messages | of_replies)


def load_file(path: Path) -> SafetyRules:
    """Load a file of safety rules. Raises SafetyInvalid unless it is complete and its patterns can be read.

    A pattern that matches an everyday sentence is refused too: the companion would be quiet for everyone.
    """
    document = _read_file(path)
    compiled = _Compiled(path, document)
    if problems := compiled.lint_everyday():
        raise SafetyInvalid(path, tuple(problems))
    return SafetyRules(document, compiled)


def check_file(path: Path) -> SafetyRules:
    """Load a file of safety rules. Raises SafetyInvalid too if it does not pass its lint, which takes long."""
    document = _read_file(path)
    compiled = _Compiled(path, document)
    if problems := compiled.lint():
        raise SafetyInvalid(path, tuple(problems))
    return SafetyRules(document, compiled)


def _read_file(path: Path) -> RulesFile:
    content = read_document(path, what="file of safety rules", refusal=SafetyInvalid)
    try:
        return RulesFile.model_validate(content)
    except ValidationError as refusal:
        problems = []
        for error in refusal.errors():
            told = explain_error(error, _PHRASES, mend="compare it with the file that ships")
            problems.append(Problem(key=told.key, fault=told.fault, mend=told.mend))
        raise SafetyInvalid(path, tuple(problems)) from None


class _Compiled:
    """A document made ready: its patterns in automata, its words in a tokenizer."""

    def __init__(self, path: Path, document: RulesFile) -> None:
        self._problems: list[Problem] = []
        try:
            self._classes = read_classes(document.words)
        except PatternInvalid as fault:
            raise SafetyInvalid(path, (Problem(key="words", fault=fault.fault, mend=fault.mend),)) from None
        self._patterns = PatternReader(self._classes)
        single = self._read_context_classes()
        context_patterns = self._read_contexts(document)
        self.message_rules = self._read_message_rules(document)
        reply_rules = self._read_reply_rules(document)
        human = self._read_patterns("asks_if_human", document.asks_if_human)
        goodbye = self._read_patterns("goodbye", document.goodbye)
        no_goodbye = self._read_patterns("no_goodbye", document.no_goodbye)
        courtesy = self._read_patterns("courtesy", document.courtesy)
        if self._problems:
            raise SafetyInvalid(path, tuple(self._problems))

        def build_automaton(patterns: Iterable[Pattern], max_matches: int = MAX_FOUND) -> Automaton:
            return Automaton(
                list(patterns),
                never_in_gap=single["never_in_gap"],
                connectors=single["connectors"],
                max_matches=max_matches,
            )

        self.messages = build_automaton(rule.pattern for rule in self.message_rules)
        self.human, self.goodbye = build_automaton(human), build_automaton(goodbye)
        self.no_goodbye, self.courtesy = build_automaton(no_goodbye), build_automaton(courtesy)
        reply_automaton = build_automaton(rule.pattern for rule in reply_rules)
        self.contexts = ContextMaterial(
            automaton=build_automaton((pattern for _, pattern in context_patterns), MAX_CONTEXTS),
            roles=[role for role, _ in context_patterns],
            words=ContextWords(**{name: single[name] for name in CONTEXT_CLASSES if name != "never_in_gap"}),
        )
        self._finders: dict[str, Automaton] = {
            "rules": self.messages,
            "contexts": self.contexts.automaton,
            "replies": reply_automaton,
            "asks_if_human": self.human,
            "goodbye": self.goodbye,
            "no_goodbye": self.no_goodbye,
            "courtesy": self.courtesy,
        }
        self._vocabulary = set().union(
            *(finder.vocabulary() for finder in self._finders.values()), *single.values()
        )
        self.tokenizer = _build_tokenizer(document, self._vocabulary)
        self.replies = self._build_replies(document, reply_rules, reply_automaton)
        self.features = FeatureReader(self._read_alike(document))
        self.weighed = self._build_weighed(path, document)

    def lint(self) -> list[Problem]:
        """Return what is wrong with the patterns beyond what keeps them from being read."""
        return lint(
            tokenizer=self.tokenizer,
            vocabulary=self._vocabulary,
            function=self.contexts.words.function,
            finders=self._finders,
        )

    def lint_everyday(self) -> list[Problem]:
        """Return the patterns that match everyday sentences, which takes milliseconds."""
        return lint_everyday(self.messages, self.tokenizer, self.contexts.words.function)

    def _read_context_classes(self) -> dict[str, frozenset[str]]:
        single = {}
        for name in CONTEXT_CLASSES:
            phrases = self._classes.get(name)
            if phrases is None:
                self._problems.append(Problem(key=f"words.{name}", fault="is missing", mend="add it"))
                phrases = frozenset()
            single[name] = frozenset(phrase[0] for phrase in phrases if len(phrase) == 1)
        return single

    def _read_patterns(self, key: str, rows: Iterable[str]) -> list[Pattern]:
        patterns = []
        for row in rows:
            try:
                patterns += self._patterns.read_row(row)
            except PatternInvalid as fault:
                self._problems.append(Problem(key=key, fault=fault.fault, mend=fault.mend))
        return patterns

    def _read_contexts(self, document: RulesFile) -> list[tuple[Role, Pattern]]:
        rows = {
            Role.IDIOM: document.contexts.idioms,
            Role.STORY: document.contexts.stories,
            Role.PAST: document.contexts.past,
            Role.DENIAL: document.contexts.denials,
            Role.NO_NEGATION: document.contexts.no_negation,
        }
        return [
            (role, pattern)
            for role, patterns in rows.items()
            for pattern in self._read_patterns(f"contexts ({role})", patterns)
        ]

    def _check_rules(
        self, rules: Iterable[PatternRule], kinds: Iterable[str], where: str
    ) -> list[PatternRule]:
        known, usable, seen = set(kinds), [], set()
        for rule in rules:
            if rule.kind not in known:
                fault = f"its kind “{rule.kind}” is not in the list of kinds"
                self._problems.append(
                    Problem(key=f"{where}.{rule.id}", fault=fault, mend="add the kind, or mend it")
                )
            elif rule.id in seen:
                self._problems.append(
                    Problem(key=f"{where}.{rule.id}", fault="is there twice", mend="rename one of the two")
                )
            else:
                usable.append(rule)
            seen.add(rule.id)
        return usable

    def _read_message_rules(self, document: RulesFile) -> list[MessageRule]:
        rules = []
        for rule in self._check_rules(document.rules, document.kinds, "rules"):
            kind = document.kinds[rule.kind]
            finding = _finding(document, rule.kind, rule)
            if kind.past is not None and kind.past not in document.kinds:
                self._problems.append(
                    Problem(key=f"kinds.{rule.kind}", fault=f"“{kind.past}” is no kind", mend="add that kind")
                )
                continue
            if_past = _finding(document, kind.past, rule) if kind.past else NOTHING
            rules += [
                MessageRule(
                    pattern=pattern,
                    finding=finding,
                    if_past=if_past,
                    apart_from=frozenset(map(Guard, rule.even_if)),
                )
                for pattern in self._read_patterns(f"rules.{rule.id}", rule.patterns)
            ]
        return rules

    def _read_reply_rules(self, document: RulesFile) -> list[ReplyRule]:
        return [
            ReplyRule(
                pattern=pattern,
                finding=ReplyFinding(
                    severity=document.reply_kinds[rule.kind].severity,
                    rule=rule.id,
                    why=rule.why,
                    kind=rule.kind,
                ),
                apart_from=frozenset(map(Guard, rule.even_if)),
            )
            for rule in self._check_rules(document.replies, document.reply_kinds, "replies")
            for pattern in self._read_patterns(f"replies.{rule.id}", rule.patterns)
        ]

    def _read_alike(self, document: RulesFile) -> dict[str, str]:
        """Return the class of each word that weighs like the others of its class; the first class counts."""
        alike: dict[str, str] = {}
        for name, written in (document.alike or {}).items():
            for word in written.replace(",", " ").split():
                alike.setdefault(stem(word), f"@{name}")
        return alike

    def _build_weighed(self, path: Path, document: RulesFile) -> WeighedWords | None:
        weighing = document.weighing
        if weighing is None:
            return None
        try:
            weights = read_weights(WEIGHTS[document.language].read_text(encoding="utf-8"))
        except (KeyError, OSError, ValueError):
            problem = Problem(
                key="weighing",
                fault=f"the weights of “{document.language}” cannot be read",
                mend="learn them anew: python -m personas.safety.learn",
            )
            raise SafetyInvalid(path, (problem,)) from None

        def finding_of(kind: str, tier: Tier) -> Finding:
            declared = document.kinds.get(kind)
            if declared is None or Tier[declared.tier.upper()] is not tier:
                fault = f"“{kind}” is no {tier.name.lower()} kind"
                raise SafetyInvalid(path, (Problem(key="weighing", fault=fault, mend="name such a kind"),))
            return Finding(
                tier=tier,
                rule=WEIGHED_WORDS,
                why=declared.means,
                kind=kind,
                about_staff=declared.about_staff,
            )

        return WeighedWords(
            weigher=Weigher(self.features, weights),
            line_from=weighing.line_from,
            flag_from=weighing.flag_from,
            pattern_line_from=weighing.pattern_line_from,
            pattern_flag_from=weighing.pattern_flag_from,
            line=finding_of(weighing.line_kind, Tier.RED),
            line_of_staff=finding_of(weighing.line_kind_of_staff, Tier.RED),
            flag=finding_of(weighing.flag_kind, Tier.AMBER),
            staff=frozenset((document.alike or {}).get(STAFF, "").replace(",", " ").split()),
        )

    def _build_replies(
        self, document: RulesFile, rules: list[ReplyRule], automaton: Automaton
    ) -> ReplyMaterial:
        def finding_of(kind: str) -> ReplyFinding:
            declared = document.reply_kinds.get(kind)
            severity, means = (declared.severity, declared.means) if declared else ("stop", kind)
            return ReplyFinding(severity=severity, rule=kind, why=means, kind=kind)

        return ReplyMaterial(
            tokenizer=self.tokenizer,
            rules=rules,
            automaton=automaton,
            contexts=self.contexts,
            link=finding_of(LINK),
            phone_number=finding_of(PHONE_NUMBER),
        )


def _finding(document: RulesFile, kind: str, rule: PatternRule) -> Finding:
    declared = document.kinds[kind]
    tier = Tier.RED if declared.tier == "red" else Tier.AMBER
    return Finding(tier=tier, rule=rule.id, why=rule.why, kind=kind, about_staff=declared.about_staff)


def _build_tokenizer(document: RulesFile, vocabulary: set[str]) -> Tokenizer:
    expansions = {written: tuple(means.split()) for written, means in document.spellings.items()}
    ambiguous = {
        reading.word: Ambiguous(
            words=tuple(reading.means.split()),
            before=frozenset(reading.before.replace(",", " ").split()),
            not_after=frozenset(reading.not_after.replace(",", " ").split()),
        )
        for reading in document.readings
    }
    written = {word for word in expansions if word.isalpha() and len(word) >= MIN_LETTERS_OF_AN_EXPANSION}
    spelling = Spelling(
        vocabulary | written, REAL_WORDS[document.language].read_text(encoding="utf-8").split()
    )
    return Tokenizer(spelling, expansions=expansions, ambiguous=ambiguous, signs=document.signs)
