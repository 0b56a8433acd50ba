"""What every view of the participant's pages needs, built in `ops.project.wiring`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.utils.translation import get_language

from companion.machines.events import NoteEvent
from companion.supervision.helplines import HelpAnswer
from companion.throttle import SignInThrottle
from companion.turn_policy import TurnPolicy
from personas.schema import Persona


class HelpNotRaised(Exception):
    """A press of *Talk to a person* could not be stored; the text is the cause's class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageContext:
    """The character and drafted lines, the policy that the history is read by, and the throttle of sign-ins."""

    languages: Mapping[str, Persona]
    """The character by language. The first is the one of a language that is not among them."""
    policy: TurnPolicy
    throttle: SignInThrottle
    note_machine: NoteEvent
    """Puts what happens on a shared machine on the audit record."""
    raise_help: Callable[[int], HelpAnswer | None]
    """Raises a flag because the participant of a conversation asks for a person; returns the drafted answer.

    None: the conversation is erased. Raises HelpNotRaised.
    """

    @property
    def persona(self) -> Persona:
        """The character in the language of the page that is being answered; see `page_language`."""
        first = next(iter(self.languages.values()))
        return self.languages.get(get_language() or "", first)
