"""What a provider is sent: the character, what was said before, held questions, the new message. PURE.

Drafted lines are never part of it, and neither is the half answer of a paused turn. Roles alternate whatever happened
before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from routing.contracts import Message

SPARE_TOKENS = 176
"""Kept free beside the reply: how a provider wraps messages is only guessed."""
ROOM_FOR_QUESTION = 400
"""Tokens of an ordinary message. A window without room for one is too small for its lane to answer anything."""
BROKEN_OFF = "…"
"""Ends what was said before a stop. A sentence in its place would be a line of ours, and a model would imitate it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """An earlier turn as a provider is told of it: what was asked in it, oldest first, and what was said."""

    questions: tuple[str, ...]
    """Held questions that were answered with it, then its own."""
    reply: str
    stopped: bool = False
    """The participant stopped it: the reply is what was said until then, perhaps nothing."""

    def messages(self) -> tuple[Message, Message]:
        """One message of each role, neither of them empty, because roles must alternate."""
        reply = f"{self.reply.rstrip()} {BROKEN_OFF}".lstrip() if self.stopped else self.reply
        return (
            Message(role="user", text="\n\n".join(self.questions)),
            Message(role="assistant", text=reply),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptDraft:
    """What a prompt is made of, whatever lane it goes to. `dialogue` and `held` are oldest first."""

    system: str
    instruction_held: str
    dialogue: Sequence[Exchange]
    held: Sequence[str]
    question: str
    doubted: frozenset[int] = frozenset()
    """Places in `held` of questions that may be what makes calls fail; see `doubt`."""
    left_out: frozenset[int] = frozenset()
    """Places in `held` of questions that are not asked along."""


def write_prompt(draft: PromptDraft, *, window_tokens: int) -> tuple[Message, ...]:
    """The messages for one lane: the held questions that fit, then the latest exchanges that do.

    `window_tokens` is the lane's context window without what is kept free for the reply.
    """
    system = Message(role="system", text=draft.system)
    held = [draft.held[place] for place in held_that_fit(draft, window_tokens=window_tokens)]
    asked = Message(role="user", text=_ask(draft, held))
    left = window_tokens - SPARE_TOKENS - tokens(system.text) - tokens(asked.text)
    kept: list[Message] = []
    for exchange in reversed(draft.dialogue):
        pair = exchange.messages()
        left -= sum(tokens(message.text) for message in pair)
        if left < 0:
            break
        kept[:0] = pair
    return (system, *kept, asked)


def least_window(system: str, *, max_tokens: int) -> int:
    """The context window, in tokens, below which a lane that replies at such length can be asked nothing."""
    return tokens(system) + ROOM_FOR_QUESTION + max_tokens + SPARE_TOKENS


def tokens(text: str) -> int:
    """A careful guess at a text's tokens: three bytes of UTF-8 to one, and four for the wrapping of a message."""
    return len(text.encode("utf-8", "replace")) // 3 + 4


def held_that_fit(draft: PromptDraft, *, window_tokens: int) -> tuple[int, ...]:
    """The places in `draft.held` of the questions that are asked along: the oldest, as many as fit.

    The others stay held, for the next turn. So does one that does not fit by itself: it must not keep those after it
    from being answered.
    """
    room = (
        window_tokens
        - SPARE_TOKENS
        - sum(tokens(text) for text in (draft.system, draft.instruction_held, draft.question))
    )
    left, fitting = room, list[int]()
    for place, question in enumerate(draft.held):
        needed = tokens(question)
        if needed > room or place in draft.left_out:
            continue
        if needed > left:
            break
        left -= needed
        fitting.append(place)
    return tuple(fitting)


def _ask(draft: PromptDraft, held: Sequence[str]) -> str:
    if not held:
        return draft.question
    # Held questions and the new message are one user message, because roles must alternate.
    return "\n\n".join((draft.instruction_held, *held, draft.question))
