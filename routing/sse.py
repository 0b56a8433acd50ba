"""PURE. Server-sent events out of bytes, however the bytes are split.

Ours, and not httpx-sse underneath: that decoder wants text, drops a last event that no blank line follows, and knows
no limit; here lines are found in the bytes, so that only LF, CR and CRLF can end one and no character is ever cut.
"""

from typing import NamedTuple

EVENT_LIMIT = 1024 * 1024
"""Bytes of one line, and of one event. More is not a reply but an attack or a fault."""


class TooLarge(ValueError):
    """One line or one event passed EVENT_LIMIT."""


class Event(NamedTuple):
    """One event: its type (`message` if none was named) and its data."""

    name: str
    data: str


class Decoder:
    """Feed it bytes; it returns the events they complete. `close` returns a last one that no blank line ended."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False
        self._started = False
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Event]:
        if self._after_cr and data:
            # The CR before has already ended its line; this LF belongs to it.
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > EVENT_LIMIT:
            raise TooLarge
        events: list[Event] = []
        for line in lines:
            self._line(line, events)
        return events

    def close(self) -> list[Event]:
        events: list[Event] = []
        self._line(self._rest, events)
        self._rest = b""
        self._line(b"", events)
        return events

    def _line(self, line: bytes, events: list[Event]) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            if self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                events.append(Event(self._name or "message", data.decode("utf-8", "replace")))
                self._data = []
                self._size = 0
            self._name = ""
            return
        field, _, value = line.partition(b":")
        if field == b"data" or field == b"error":
            self._size += len(value)
            if self._size > EVENT_LIMIT:
                raise TooLarge
            self._data.append(value.removeprefix(b" "))
            if field == b"error":
                # No such field exists, but a popular server has sent its errors in it.
                self._name = "error"
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
