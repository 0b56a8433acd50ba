"""A log of every request and of each piece that was sent, as JSON lines with times, for a program that judges them."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any


class WireLog:
    """Writes one line for each event: {"at", "what", "call", …}. `at` is this machine's monotonic clock, in seconds.

    `what` is `asked` {model, request, messages}, `piece` {text}, `finished` {reason}, `broke` {kind}, or `left`: the
    client closed the connection. It holds texts, so it is for synthetic ones only.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    @classmethod
    def open(cls, path: Path) -> "WireLog":
        """Append to a file, one whole line at a time: the program may be killed. Raises OSError."""
        return cls(path.open("a", buffering=1, encoding="utf-8"))

    def write(self, what: str, call: int, **facts: Any) -> None:
        line = {"at": time.perf_counter(), "what": what, "call": call, **facts}
        self._file.write(json.dumps(line) + "\n")

    def write_asked(
        self, call: int, *, model: str, request: str, messages: Sequence[tuple[str, str]]
    ) -> None:
        """A request as it was received. `messages` are (role, text)."""
        sent = [{"role": role, "content": text} for role, text in messages]
        self.write("asked", call, model=model, request=request, messages=sent)

    def write_end(self, call: int, how: str, *, reason: str | None, kind: str) -> None:
        """How the answer ended, in the words of the record; see `record.Asked.how`."""
        match how:
            case "finished":
                self.write("finished", call, reason=reason)
            case "client_closed":
                self.write("left", call)
            case _:
                self.write("broke", call, kind=kind)
