"""What a page of choices is answered after a change, a participant's and staff's alike."""

from typing import Any

from django.contrib.sessions.backends.base import SessionBase

from companion.needs import store
from companion.needs.choices import CHOICES, Choice
from companion.needs.look import make_look
from companion.needs.models import Needs
from companion.needs.undo import UndoSteps
from personas.schema import ChoiceLines


def describe_change(lines: ChoiceLines, choice: Choice, before: Needs | None) -> str:
    """Return the drafted line about a choice that was stored. A first record also has replies come as a whole."""
    turns_whole = before is None and choice.name != "words"
    return lines.whole_too if turns_whole else lines.changed


def build_answer(
    participant: int, session: SessionBase, *, said: str, language: str | None = None
) -> dict[str, Any]:
    """Return {look, chosen, said, undo}: the attributes of the page, the option of each choice, the drafted line, and
    whether the change can be changed back.

    `language` is that of the participant's own page, which shows it as chosen also where none is recorded.
    """
    needs = store.find_needs(participant)
    recorded = store.list_values(needs)
    values = recorded if language is None else {**recorded, "language": language}
    return {
        "look": make_look(values),
        "chosen": {choice.name: choice.find_chosen(values) for choice in CHOICES},
        "said": said,
        "undo": UndoSteps(session, participant).can_undo(needs),
    }
