"""Writes the prompt: the character, earlier exchanges, held questions, the new message. PURE.

Drafted lines, the half answers of paused turns, red messages and notes of staff are never part of it. Roles always
alternate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from routing.contracts import Message

RESERVED_TOKENS = 176
"""Kept free beside the reply: the tokens with which a provider wraps messages are an estimate."""
QUESTION_TOKENS = 400
"""Tokens of an ordinary message. A window without room for one is too small for its lane to answer anything."""
BROKEN_OFF = "…"
"""Ends what was said before a stop. A drafted sentence in its place would be imitated by the model."""

QUOTES = '"""'
"""Stand around what is told and not asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonWords:
    """What was written while a member of staff had taken over. `name` is theirs; empty: the participant wrote it."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """An earlier turn as a provider is sent it: its questions, oldest first, and its reply."""

    questions: tuple[str, ...]
    """Held questions that were answered with it, then its own."""
    reply: str
    stopped: bool = False
    """The participant stopped it: the reply is what was said until then, perhaps nothing."""
    person: tuple[PersonWords, ...] = ()
    """What a person and the participant wrote before it."""

    def messages(self, instruction_person: str = "") -> tuple[Message, Message]:
        """One message of each role, neither of them empty, because roles must alternate."""
        reply = f"{self.reply.rstrip()} {BROKEN_OFF}".lstrip() if self.stopped else self.reply
        person = _write_person(instruction_person, self.person)
        return (
            Message(role="user", text="\n\n".join((*person, *self.questions))),
            Message(role="assistant", text=reply),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptDraft:
    """A prompt before it is fitted to the window of a lane. `dialogue` and `held` are oldest first."""

    system: str
    instruction_held: str
    dialogue: Sequence[Exchange]
    held: Sequence[str]
    question: str
    doubted: frozenset[int] = frozenset()
    """Places in `held` of questions that may be the reason that calls fail; see `doubt`."""
    instruction_person: str = ""
    instruction_care: str = ""
    """Empty: no care is due."""
    instruction_easy: str = ""
    """Empty: the participant has not asked for easy words."""
    person: tuple[PersonWords, ...] = ()
    """What a person and the participant wrote since the last exchange."""
    left_out: frozenset[int] = frozenset()
    """Places in `held` of questions that are not asked along."""


def write_prompt(draft: PromptDraft, *, window_tokens: int) -> tuple[Message, ...]:
    """The messages for one lane: the held questions that fit, then the latest exchanges that do.

    `window_tokens` is the lane's context window without what is kept free for the reply.
    """
    system = Message(role="system", text=_write_system(draft))
    held = [draft.held[place] for place in choose_held(draft, window_tokens=window_tokens)]
    asked = Message(role="user", text=_write_question(draft, held, window_tokens))
    left = window_tokens - RESERVED_TOKENS - estimate_tokens(system.text) - estimate_tokens(asked.text)
    kept: list[Message] = []
    for exchange in reversed(draft.dialogue):
        pair = exchange.messages(draft.instruction_person)
        left -= sum(estimate_tokens(message.text) for message in pair)
        if left < 0:
            break
        kept[:0] = pair
    return (system, *kept, asked)


def min_context_tokens(system: str, *, max_tokens: int) -> int:
    """The smallest context window, in tokens, of a lane that replies with `max_tokens` and can be asked a question."""
    return estimate_tokens(system) + QUESTION_TOKENS + max_tokens + RESERVED_TOKENS


def estimate_tokens(text: str) -> int:
    """A high estimate of a text's tokens: one for three bytes of UTF-8, and four to wrap a message."""
    return len(text.encode("utf-8", "replace")) // 3 + 4


def choose_held(draft: PromptDraft, *, window_tokens: int) -> tuple[int, ...]:
    """The places in `draft.held` of the questions that are asked along: the oldest, as many as fit.

    The others stay held, for the next turn. So does one that does not fit by itself: it must not keep those after it
    from being answered.
    """
    room = (
        window_tokens
        - RESERVED_TOKENS
        - sum(
            estimate_tokens(text) for text in (_write_system(draft), draft.instruction_held, draft.question)
        )
        - sum(estimate_tokens(text) for text in _person_of_question(draft, window_tokens))
    )
    left, fitting = room, list[int]()
    for place, question in enumerate(draft.held):
        needed = estimate_tokens(question)
        if needed > room or place in draft.left_out:
            continue
        if needed > left:
            break
        left -= needed
        fitting.append(place)
    return tuple(fitting)


def _write_system(draft: PromptDraft) -> str:
    parts = (draft.system, draft.instruction_easy, draft.instruction_care)
    return "\n\n".join(part for part in parts if part)


def _write_question(draft: PromptDraft, held: Sequence[str], window_tokens: int) -> str:
    person = _person_of_question(draft, window_tokens)
    if not held:
        return "\n\n".join((*person, draft.question))
    # Held questions and the new message are one user message, because roles must alternate.
    return "\n\n".join((*person, draft.instruction_held, *held, draft.question))


def _person_of_question(draft: PromptDraft, window_tokens: int) -> tuple[str, ...]:
    """What a person and the participant wrote, in front of the question; nothing if it would fill the window."""
    person = _write_person(draft.instruction_person, draft.person)
    fits = 2 * sum(estimate_tokens(text) for text in person) <= window_tokens - RESERVED_TOKENS
    return person if fits else ()


def _write_person(instruction: str, words: Sequence[PersonWords]) -> tuple[str, ...]:
    if not words:
        return ()
    lines = (f"{one.name}: {one.text}" if one.name else one.text for one in words)
    return (instruction, QUOTES, *lines, QUOTES)
