"""What a rule finds in a history: how much it looked at, and each violation. PURE."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ops.ordeal.judge.evidence import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """One broken promise. `at` is in seconds since the start; `who` and `turn` lead to its place in the history."""

    rule: str
    at: float
    text: str
    """What was found and what should have been, in one sentence, with ids and without what was written."""
    who: str = ""
    """The socket, provider or process; empty: the record."""
    turn: int | None = None


@dataclass(slots=True)
class Findings:
    """Collects the violations of one rule. `checked` counts what the rule looked at, because 0 of 0 proves nothing."""

    rule: str
    checked: int = 0
    violations: list[Violation] = field(default_factory=list)

    def expect(self, held: bool, text: str, *, at: float, who: str = "", turn: int | None = None) -> None:
        """Count one check; record a violation unless it held."""
        self.checked += 1
        if not held:
            self.violations.append(Violation(rule=self.rule, at=at, text=text, who=who, turn=turn))


@dataclass(frozen=True, kw_only=True, slots=True)
class OrdealRule:
    """One promise, and the function that looks for a breach of it."""

    name: str
    promise: str
    check: Callable[[Evidence, Findings], None]
