"""The shapes that cross the edge of this room: what is asked, what comes back, what a lane is."""

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol

from routing.errors import FailureClass

Role = Literal["system", "user", "assistant"]

MAX_TOKENS = 1_024
"""The length limit of a reply where a lane names none."""
REPLY_MS = 300_000
"""The longest a reply may be spoken where a lane does not say: at four tokens a second it is the longest reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a prompt. A system message, if any, comes first; then user and assistant alternate."""

    role: Role
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question to one lane: a whole prompt, cut to the lane's context window as far as can be guessed."""

    reference: str
    """Names the turn in our logs and in the `X-Request-Id` header. Never anything a person wrote."""
    messages: tuple[Message, ...]
    max_tokens: int = MAX_TOKENS


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """What a lane costs, for a million tokens, in `currency` (three letters)."""

    input_per_million: Decimal
    output_per_million: Decimal
    currency: str

    def cost(self, *, input_tokens: int, output_tokens: int) -> Decimal:
        """Of so many tokens."""
        return (input_tokens * self.input_per_million + output_tokens * self.output_per_million) / 1_000_000

    def is_below(self, other: "Prices") -> bool:
        """Whether every call costs less, or as much: neither price is higher, and one is lower."""
        if self.currency != other.currency or self == other:
            return False
        return (
            self.input_per_million <= other.input_per_million
            and self.output_per_million <= other.output_per_million
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """One place a request can be served from, as the routing file describes it. Times in milliseconds."""

    name: str
    adapter: Literal["openai", "anthropic"]
    base_url: str
    model: str
    api_key_env: str | None
    """Name of the environment variable that holds the key, read anew for each attempt; None sends no key."""
    failure_domain: str
    region: str
    context_tokens: int
    max_in_flight: int
    connect_ms: int
    first_word_ms: int
    idle_ms: int
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """How this lane calls its length limit; some models know only the second word."""
    marking: Literal["none", "reduced"] = "none"
    """`reduced`: its replies are not as good, and are marked whichever preset led to it."""
    thoughts: Literal["marked", "unopened"] = "marked"
    """`unopened`: its replies begin with the model's thoughts, and a mark stands at the end of them alone."""
    max_tokens: int = MAX_TOKENS
    """The length limit of a reply, in tokens. So much of `context_tokens` is kept free for it."""
    reply_ms: int = REPLY_MS
    """The longest a reply may be spoken, from its first word."""
    usage: Literal["by_itself", "asked"] = "by_itself"
    """`asked`: the lane tells how many tokens a reply took if `stream_options.include_usage` asks for it."""
    prices: Prices | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """A reviewed chain: the lanes in the order in which they are tried."""

    name: str
    chain: tuple[str, ...]
    marking: Literal["none", "reduced"] = "none"
    ceiling: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """The clocks of one call, in seconds. They run on the event loop's monotonic time."""

    connect_s: float
    first_word_s: float | None
    """One deadline for the first visible word; None: bounded by the total alone (a turn's last attempt)."""
    reasoning_s: float | None
    """While reasoning arrives the first word may come as late as this; None: as first_word_s."""
    idle_s: float
    """Longest silence between two visible words."""
    total_s: float
    """What is left of the turn's time for its first word, over all attempts."""
    reply_s: float = REPLY_MS / 1000
    """Longest a reply may be spoken, from its first visible word."""
    whole_s: float = math.inf
    """What is left of the time that the caller has for the words as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """Visible text, in order, mended: no NUL, no lone surrogate, never empty. Not cut at grapheme borders."""

    text: str
    bytes_received: int = 0
    """Of the whole answer, so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """How many tokens a call took, as the provider counted them. Never estimated."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A recognised terminal reason was seen after visible text. Always the last event."""

    truncated: bool
    """True when the provider stopped at its length limit: the words stand, marked short."""
    model: str
    bytes_received: int
    usage: Usage | None = None
    """None: the provider did not tell."""


class Adapter(Protocol):
    """One provider's wire. Implementations hold a client that belongs to one event loop."""

    def stream(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]:
        """Yield Words, then Finished. Raises routing.errors.CallFailed for everything else, and nothing but
        that; cancellation and aclose() close the upstream at once. Use under `contextlib.aclosing`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptReport:
    """The record of one attempt, failed or not. Times in seconds since the turn was let in."""

    lane: str
    model: str
    failure: FailureClass | None
    """None: the attempt ended with a recognised terminal reason."""
    status: int | None
    code: str | None
    """The provider's own short code: letters, digits, `_`, `.`, `-`, at most 64. Never a message."""
    waited_s: float
    started_s: float
    took_s: float
    bytes_received: int
    words: int
    usage: Usage | None = None
    """None: the provider did not tell, or the call failed."""
