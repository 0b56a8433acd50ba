"""What every view of the participant's pages needs, built in `ops.project.wiring`."""

from collections.abc import Callable
from dataclasses import dataclass

from companion.machines.events import NoteEvent
from companion.throttle import SignInThrottle
from companion.turn_policy import TurnPolicy
from personas.schema import Persona


class HelpNotRaised(Exception):
    """A press of *Talk to a person* could not be stored; the text is the cause's class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageContext:
    """The character and drafted lines, the policy that the history is read by, and the throttle of sign-ins."""

    persona: Persona
    policy: TurnPolicy
    throttle: SignInThrottle
    note_machine: NoteEvent
    """Puts what happens on a shared machine on the audit record."""
    raise_help: Callable[[int], str]
    """Raises a flag because the participant of a conversation asks for a person; returns the drafted answer.

    Raises HelpNotRaised.
    """
