"""PURE. What the rules report. It holds names of rules, never what a person wrote."""

from dataclasses import dataclass
from enum import IntEnum

BROKEN_RULE = "broken-rule"


class Tier(IntEnum):
    """How serious a message is. A later layer may raise it, never lower it."""

    NONE = 0
    AMBER = 1
    RED = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The verdict on one message: the most serious rule that matched it. NONE has an empty `rule` and `kind`."""

    tier: Tier
    rule: str = ""
    why: str = ""
    kind: str = ""
    about_staff: bool = False
    """The message may be about staff or a carer: its flag also rings for people beyond them."""
    broken: bool = False
    """A rule could not be applied; operators are to be alerted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyFinding:
    """A rule for replies that matched. `stop`: end the reply before this is shown; `flag`: report it afterwards."""

    severity: str
    rule: str = ""
    why: str = ""
    kind: str = ""
    broken: bool = False


NOTHING = Finding(tier=Tier.NONE)
