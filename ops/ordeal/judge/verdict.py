"""Judges a history by every rule. PURE."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ops.ordeal.history import HistoryUnreadable, RunHistory
from ops.ordeal.judge import arrival, calls, flags, prompts, record, shown, strangers, turns, who_speaks
from ops.ordeal.judge.evidence import Evidence
from ops.ordeal.judge.findings import Findings, OrdealRule, Violation

RULES: tuple[OrdealRule, ...] = (
    *shown.RULES,
    *turns.RULES,
    *calls.RULES,
    *arrival.RULES,
    *prompts.RULES,
    *strangers.RULES,
    *flags.RULES,
    *who_speaks.RULES,
    *record.RULES,
)


@dataclass(frozen=True, kw_only=True)
class OrdealVerdict:
    """What the rules found in one history. `violations` are in order of time."""

    seed: int
    checked: Mapping[str, int]
    """How much each rule looked at, by name."""
    violations: Sequence[Violation]

    @property
    def held(self) -> bool:
        return not self.violations

    @property
    def idle(self) -> list[str]:
        """Rules that found nothing to look at: this history proves nothing about them."""
        return [name for name, count in self.checked.items() if not count]


def judge(history: RunHistory) -> OrdealVerdict:
    """Apply every rule. Raises HistoryUnreadable if the run has not come to its end: most rules need the record."""
    if not history.is_whole:
        raise HistoryUnreadable("the run has not come to its end: nothing stored is in its history")
    evidence = Evidence(history)
    checked: dict[str, int] = {}
    violations: list[Violation] = []
    for rule in RULES:
        findings = Findings(rule.name)
        rule.check(evidence, findings)
        checked[rule.name] = findings.checked
        violations += findings.violations
    violations.sort(key=lambda one: one.at)
    return OrdealVerdict(
        seed=int(history.start.get("seed", 0)), checked=checked, violations=tuple(violations)
    )
