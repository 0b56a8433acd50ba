"""What the participants' pages are made of, built in one place and passed to every view."""

from dataclasses import dataclass

from companion.throttle import SignInThrottle
from companion.turn_policy import TurnPolicy
from personas.schema import Persona


@dataclass(frozen=True, kw_only=True, slots=True)
class PageContext:
    """The character as people meet him, the rules the history is read by, and who has tried the door too often."""

    persona: Persona
    policy: TurnPolicy
    throttle: SignInThrottle
