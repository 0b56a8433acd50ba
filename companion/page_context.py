"""What every view of the participant's pages needs, built in `ops.project.wiring`."""

from dataclasses import dataclass

from companion.throttle import SignInThrottle
from companion.turn_policy import TurnPolicy
from personas.schema import Persona


@dataclass(frozen=True, kw_only=True, slots=True)
class PageContext:
    """The character and drafted lines, the policy that the history is read by, and the throttle of sign-ins."""

    persona: Persona
    policy: TurnPolicy
    throttle: SignInThrottle
