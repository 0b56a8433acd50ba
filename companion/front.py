"""What the participants' pages are made of, built in one place and passed to every view."""

from dataclasses import dataclass

from companion.house import House
from personas.schema import Persona


@dataclass(frozen=True, kw_only=True, slots=True)
class Front:
    """The character as people meet him, and the rules the history is read by."""

    persona: Persona
    house: House
