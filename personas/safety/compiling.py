"""Makes a file of safety rules ready to read texts: automata, tokenizer and weights."""

from collections.abc import Iterable
from pathlib import Path

from personas.errors import Problem, SafetyInvalid
from personas.safety.automaton import MAX_CONTEXTS, MAX_FOUND, Automaton
from personas.safety.contexts import ContextWords
from personas.safety.features import FeatureReader, stem
from personas.safety.files import REAL_WORDS, WEIGHTS
from personas.safety.findings import Finding, ReplyFinding, Tier
from personas.safety.lint import lint, lint_everyday
from personas.safety.parsing import ParsedRules, parse_rules
from personas.safety.patterns import Pattern
from personas.safety.replies import LINK, PHONE_NUMBER, ReplyMaterial
from personas.safety.rules import WEIGHED_WORDS, ContextMaterial, WeighedWords
from personas.safety.schema import RulesFile
from personas.safety.spelling import Spelling
from personas.safety.tokens import Ambiguous, Tokenizer
from personas.safety.weights import Weigher, digest_of, read_weights

STAFF = "staff"
"""The class of `alike` whom a flag may be about."""
MIN_LETTERS_OF_AN_EXPANSION = 4
"""From this length on, a contraction such as “gonna” is found with a slip in it."""


class CompiledRules:
    """A document made ready. Raises SafetyInvalid for patterns, kinds or weights that cannot be read."""

    def __init__(self, path: Path, document: RulesFile) -> None:
        parsed = parse_rules(path, document)
        single = parsed.single

        def build(patterns: Iterable[Pattern], max_matches: int = MAX_FOUND) -> Automaton:
            return Automaton(
                list(patterns),
                never_in_gap=single["never_in_gap"],
                connectors=single["connectors"],
                max_matches=max_matches,
            )

        self.message_rules = parsed.messages
        self.messages = build(rule.pattern for rule in parsed.messages)
        self.human, self.goodbye = build(parsed.asks_if_human), build(parsed.goodbye)
        self.no_goodbye, self.courtesy = build(parsed.no_goodbye), build(parsed.courtesy)
        self.contexts = ContextMaterial(
            automaton=build((pattern for _, pattern in parsed.contexts), MAX_CONTEXTS),
            roles=[role for role, _ in parsed.contexts],
            words=ContextWords(**{name: words for name, words in single.items() if name != "never_in_gap"}),
        )
        replies = build(rule.pattern for rule in parsed.replies)
        self._finders = {
            "rules": self.messages,
            "contexts": self.contexts.automaton,
            "replies": replies,
            "asks_if_human": self.human,
            "goodbye": self.goodbye,
            "no_goodbye": self.no_goodbye,
            "courtesy": self.courtesy,
        }
        self._vocabulary = set().union(
            *(finder.vocabulary() for finder in self._finders.values()), *single.values()
        )
        self.tokenizer = _build_tokenizer(document, self._vocabulary)
        self.replies = self._build_replies(document, parsed, replies)
        self.features = FeatureReader(_read_alike(document))
        self.weighed = _build_weighed(path, document, self.features)

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

    def _build_replies(self, document: RulesFile, parsed: ParsedRules, automaton: Automaton) -> ReplyMaterial:
        def finding_of(kind: str) -> ReplyFinding:
            declared = document.reply_kinds.get(kind)
            severity, means = (declared.severity, declared.means) if declared else ("stop", kind)
            return ReplyFinding(severity=severity, rule=kind, why=means, kind=kind)

        return ReplyMaterial(
            tokenizer=self.tokenizer,
            rules=parsed.replies,
            automaton=automaton,
            contexts=self.contexts,
            link=finding_of(LINK),
            phone_number=finding_of(PHONE_NUMBER),
        )


def _build_tokenizer(document: RulesFile, vocabulary: set[str]) -> Tokenizer:
    expansions = {written: tuple(means.split()) for written, means in document.spellings.items()}
    ambiguous = {
        reading.word: Ambiguous(
            words=tuple(reading.means.split()),
            before=frozenset(_split_words(reading.before)),
            not_after=frozenset(_split_words(reading.not_after)),
        )
        for reading in document.readings
    }
    written = {word for word in expansions if word.isalpha() and len(word) >= MIN_LETTERS_OF_AN_EXPANSION}
    spelling = Spelling(
        vocabulary | written, REAL_WORDS[document.language].read_text(encoding="utf-8").split()
    )
    return Tokenizer(spelling, expansions=expansions, ambiguous=ambiguous, signs=document.signs)


def _read_alike(document: RulesFile) -> dict[str, str]:
    """Return the class of each word that weighs like the others of its class; the first class counts."""
    alike: dict[str, str] = {}
    for name, written in (document.alike or {}).items():
        for word in _split_words(written):
            alike.setdefault(stem(word), f"@{name}")
    return alike


def _split_words(written: str) -> list[str]:
    return written.replace(",", " ").split()


def _build_weighed(path: Path, document: RulesFile, features: FeatureReader) -> WeighedWords | None:
    weighing = document.weighing
    if weighing is None:
        return None

    def refuse(fault: str, mend: str) -> SafetyInvalid:
        return SafetyInvalid(path, (Problem(key="weighing", fault=fault, mend=mend),))

    def finding_of(kind: str, tier: Tier) -> Finding:
        declared = document.kinds.get(kind)
        if declared is None or Tier[declared.tier.upper()] is not tier:
            raise refuse(f"“{kind}” is no {tier.name.lower()} kind", "name such a kind")
        return Finding(
            tier=tier, rule=WEIGHED_WORDS, why=declared.means, kind=kind, about_staff=declared.about_staff
        )

    try:
        written = WEIGHTS[document.language].read_text(encoding="utf-8")
        weights = read_weights(written)
    except (KeyError, OSError, ValueError):
        fault = f"the weights of “{document.language}” cannot be read"
        raise refuse(fault, "learn them anew: python -m personas.safety.learn") from None
    return WeighedWords(
        weigher=Weigher(features, weights),
        version=digest_of(written),
        line_from=weighing.line_from,
        flag_from=weighing.flag_from,
        pattern_line_from=weighing.pattern_line_from,
        pattern_flag_from=weighing.pattern_flag_from,
        line=finding_of(weighing.line_kind, Tier.RED),
        line_of_staff=finding_of(weighing.line_kind_of_staff, Tier.RED),
        flag=finding_of(weighing.flag_kind, Tier.AMBER),
        staff=frozenset(_split_words((document.alike or {}).get(STAFF, ""))),
    )
