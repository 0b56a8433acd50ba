"""What the rehearsal provider was asked and how each answer ended, for tests and load tests to read."""

import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

KEPT = 5_000
"""How many requests are remembered. The oldest are forgotten first."""


@dataclass(kw_only=True, slots=True)
class Asked:
    """One request and its answer. All times but `at` are this machine's monotonic clock, in seconds."""

    id: int
    request_id: str
    model: str
    messages: list[Any]
    """As `--keep-texts` or a mark has it; without either, none."""
    streamed: bool
    key_sent: bool
    max_tokens: int | None
    """The length limit it was sent, by either name."""
    headers: dict[str, str]
    at: float = field(default_factory=time.time)
    started: float = field(default_factory=time.perf_counter)
    first_byte_at: float | None = None
    first_word_at: float | None = None
    last_word_at: float | None = None
    ended: float | None = None
    how: str | None = None
    """`finished` (said all it meant to), `failed` (an error on command), `cut`, `client_closed`; or None."""
    status: int | None = None
    words_sent: int = 0


class RequestLog:
    """Everything asked since the start or the last clearing, and how many answers run at once."""

    def __init__(self) -> None:
        self._asked: deque[Asked] = deque(maxlen=KEPT)
        self.in_flight = 0
        self.max_in_flight = 0
        self.total = 0

    def open(self, **fields: Any) -> Asked:
        self.total += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        asked = Asked(id=self.total, **fields)
        self._asked.append(asked)
        return asked

    def close(self, asked: Asked, how: str) -> None:
        if asked.how is None:
            asked.how, asked.ended = how, time.perf_counter()
            self.in_flight -= 1

    def asked(self) -> list[dict[str, Any]]:
        return [asdict(one) for one in self._asked]

    def forget(self) -> None:
        self._asked.clear()

    def gauge(self) -> dict[str, int]:
        return {"in_flight": self.in_flight, "max_in_flight": self.max_in_flight, "total": self.total}

    def reset_gauge(self) -> None:
        """Start the peak anew from what runs at this moment."""
        self.max_in_flight = self.in_flight
