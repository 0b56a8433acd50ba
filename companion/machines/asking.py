"""*Is this you?* in the language of the person whom staff have named, with their letters and colours.

Only what makes the question readable is shown before the answer: nothing else of what is recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from companion.languages import OF_PERSON
from companion.needs.look import LOOK_FIELDS, Look
from companion.needs.store import read_look

PERSON_COLUMNS = ", ".join(["p.name", OF_PERSON, *(f"n.{field}" for field in LOOK_FIELDS)])
"""The columns of `read_asked` after the offer's id."""
PERSON_JOINS = """
LEFT JOIN companion_participant p ON p.id = o.participant_id AND p.is_active
LEFT JOIN companion_site s ON s.id = p.site_id
LEFT JOIN companion_needs n ON n.participant_id = p.id
"""
"""The person of an offer `o`; no name where it may not come in any more."""
SHOWN = ("type", "contrast")


class QuestionLines(Protocol):
    """The drafted lines of the question. A persona's `lines` satisfy it."""

    @property
    def is_this_you(self) -> str: ...
    @property
    def this_is_me(self) -> str: ...
    @property
    def this_is_not_me(self) -> str: ...


class Speaker(Protocol):
    """A character in one language. A `Persona` satisfies it."""

    @property
    def lines(self) -> QuestionLines: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedPerson:
    """Whom a machine asks for."""

    offer: int
    name: str
    """Of the participant, in full."""
    language: str
    look: Look


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityQuestion:
    """What the page shows: the question by the first name, and its two answers."""

    language: str
    text: str
    yes: str
    no: str


def read_asked(row: Sequence[Any]) -> AskedPerson | None:
    """Read an offer's id and `PERSON_COLUMNS`; None: no one is asked for."""
    offer, name, language, *needs = row
    if offer is None or name is None:
        return None
    # The size of the letters is null where nothing is recorded.
    look = read_look(needs) if needs[0] is not None else {}
    return AskedPerson(
        offer=offer,
        name=name,
        language=language,
        look={attribute: look[attribute] for attribute in SHOWN if attribute in look},
    )


def write_question(asked: AskedPerson, languages: Mapping[str, Speaker]) -> IdentityQuestion:
    """Write the question in the language of the person, or else in the first one."""
    language = asked.language if asked.language in languages else next(iter(languages))
    lines = languages[language].lines
    return IdentityQuestion(
        language=language,
        text=lines.is_this_you.replace("{name}", first_name(asked.name)),
        yes=lines.this_is_me,
        no=lines.this_is_not_me,
    )


def first_name(name: str) -> str:
    """The name by which a machine asks: a family name stays off a screen that others see."""
    return name.split()[0] if name.split() else name
