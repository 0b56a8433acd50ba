"""What flags are raised for. PURE."""

from dataclasses import dataclass

from companion.supervision.states import FlagSource, FlagTier


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagCause:
    """What a flag is raised for. `kind` is a `FlagKind`, or the kind of the rule that matched."""

    conversation: int
    tier: FlagTier
    kind: str
    source: FlagSource
    rule: str = ""
    rules_version: str = ""
    about_staff: bool = False
    turn: int | None = None
