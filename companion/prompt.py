"""What a provider is sent: the character, what was said and answered, held questions, the new message. PURE.

Drafted lines are never part of it, and neither is a half answer. Roles alternate whatever happened before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from routing.contracts import Message

ROOM_FOR_REPLY = 1_200
"""Tokens kept free for the reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What a prompt is made of, whatever lane it goes to. `dialogue` and `held` are oldest first."""

    system: str
    instruction_held: str
    dialogue: Sequence[tuple[str, str]]
    held: Sequence[str]
    question: str


def write_prompt(draft: Draft, *, context_tokens: int) -> tuple[Message, ...]:
    """The messages for one lane: the held questions that fit its context window, then the latest pairs that do."""
    system = Message(role="system", text=draft.system)
    held = draft.held[len(draft.held) - held_that_fit(draft, context_tokens=context_tokens) :]
    asked = Message(role="user", text=_ask(draft, held))
    left = context_tokens - ROOM_FOR_REPLY - tokens(system.text) - tokens(asked.text)
    kept: list[Message] = []
    for question, reply in reversed(draft.dialogue):
        left -= tokens(question) + tokens(reply)
        if left < 0:
            break
        kept[:0] = [Message(role="user", text=question), Message(role="assistant", text=reply)]
    return (system, *kept, asked)


def tokens(text: str) -> int:
    """A careful guess at a text's tokens: three bytes of UTF-8 to one, and four for the wrapping of a message."""
    return len(text.encode("utf-8", "replace")) // 3 + 4


def held_that_fit(draft: Draft, *, context_tokens: int) -> int:
    """How many of the held questions can be asked along, the newest: the others stay held, for the next turn."""
    left = (
        context_tokens
        - ROOM_FOR_REPLY
        - sum(tokens(text) for text in (draft.system, draft.instruction_held, draft.question))
    )
    fitting = 0
    for question in reversed(draft.held):
        left -= tokens(question)
        if left < 0:
            break
        fitting += 1
    return fitting


def _ask(draft: Draft, held: Sequence[str]) -> str:
    if not held:
        return draft.question
    # Held questions and the new message are one user message, because roles must alternate.
    return "\n\n".join((draft.instruction_held, *held, draft.question))
