"""What the rehearsal provider can be told to do wrong: one flat, combinable description of a fault."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Cut = Literal["fin", "reset", "no_finish", "close_early", "mid_json", "gzip", "short_length"]
"""Five ways a body can die, and two more: a truncated gzip body, a body shorter than its stated length."""

Odd = Literal[
    "split_utf8",
    "bom",
    "cr",
    "crlf",
    "comments",
    "unknown_events",
    "empty_choices",
    "no_delta",
    "null_content",
    "lone_surrogate",
    "split_surrogate",
    "nul",
    "separators",
    "reasoning",
    "finish_with_words",
    "no_done",
    "no_last_blank",
]
"""Odd but lawful bytes. Each can stand with the others."""


class Fault(BaseModel):
    """One way to answer. Every field is optional and they combine; the empty fault is a plain good reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Instead of an answer.
    status: Annotated[int, Field(ge=200, le=599)] | None = None
    headers: dict[str, str] = {}
    error: str | None = None
    """Name of an error shape: the body beside `status`, or an object in the stream after `after` words."""
    error_event: Literal["data", "error_field", "named_event"] = "data"
    body: str | None = None
    """The body beside `status`, to the letter; before `error`."""
    disconnect: Literal["fin", "reset"] | None = None
    """Close without sending a byte."""

    # When it stops or waits.
    after: Annotated[int, Field(ge=0)] = 0
    """How many pieces are sent before `cut`, `error` or `hang: after_words` acts."""
    cut: Cut | None = None
    hang: Literal["before_byte", "before_word", "after_words"] | None = None
    pings_ms: Annotated[float, Field(gt=0)] | None = None
    """Comment lines at this interval while it waits before the first word or hangs."""
    first_word_s: Annotated[float, Field(ge=0)] | None = None
    pace_ms: Annotated[float, Field(ge=0)] | None = None
    """Time between words; 0: as fast as possible."""
    even: bool = False
    """Send at an exactly even pace, without the slight variation."""

    # What it says.
    words: Annotated[int, Field(ge=1, le=100_000)] | None = None
    say: str | None = None
    split: Annotated[int, Field(ge=1)] | None = None
    """Cut `say` into pieces of so many characters; without it, at the words."""
    pieces: tuple[str, ...] | None = None
    """The pieces of the reply to the letter; before `say`."""
    reply: Literal["words", "empty", "whitespace", "reasoning_only"] = "words"
    stamp: bool = False
    """Each word is this machine's monotonic clock at the moment it is sent; see `stamps`."""
    refusal: bool = False
    """Say the words as a refusal instead of content."""
    reasoning: Annotated[int, Field(ge=0)] = 0
    """Reasoning pieces, at the pace, before the first word."""
    finish: str | None = "stop"
    """The finish reason, to the letter; null: none is sent."""
    odd: frozenset[Odd] = frozenset()
    content_type: str | None = None

    @property
    def kind(self) -> str:
        """The field that breaks the reply, with its value where that says how; empty for a good reply."""
        if self.status is not None:
            return f"status {self.status}"
        found = ((name, getattr(self, name)) for name in ("disconnect", "cut", "error", "hang"))
        return next((f"{name} {value}" for name, value in found if value), "body" if self.body else "")


class FaultOrder(BaseModel):
    """A fault with the requests it is for: the next so many (null: until cleared) that match."""

    model_config = ConfigDict(extra="forbid")

    fault: Fault
    next: Annotated[int, Field(ge=1)] | None = 1
    match: str | None = None
    """Part of the request's `X-Request-Id` or of its last user message; null: every request."""


class QuestionMark(BaseModel):
    """Questions that hold this text are an operator's own: the record keeps what they say."""

    model_config = ConfigDict(extra="forbid")

    mark: Annotated[str, Field(min_length=8, max_length=200)]


_DIRECTIVE = re.compile(r"\[\[([a-z_]+[^\[\]]*)\]\]")


def directive(message: str) -> Fault | None:
    """The fault a message asks for, like `[[cut after=10 how=reset]]` or `[[status=429 error=rate_limit]]`.

    A first word without `=` names the field that `how=` (or nothing, for a plain switch) gives a value to.
    A directive that makes no sense is taken for ordinary words: None. Only the last paragraph is read: before it
    stand questions that were held, and their directives have had their day.
    """
    found = _DIRECTIVE.search(message.rpartition("\n\n")[2])
    if not found:
        return None
    fields: dict[str, Any] = {}
    parts = found[1].split()
    leading = parts[0] if "=" not in parts[0] else None
    for part in parts[1:] if leading else parts:
        name, _, value = part.partition("=")
        fields[leading if leading and name == "how" else name] = _value(value)
    if leading and leading not in fields:
        fields[leading] = _PLAIN.get(leading, True)
    if "odd" in fields:
        fields["odd"] = str(fields["odd"]).split(",")
    try:
        return Fault.model_validate(fields)
    except ValidationError:
        return None


_PLAIN = {"cut": "fin", "hang": "after_words", "disconnect": "fin", "status": 500, "error": "server_error"}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
