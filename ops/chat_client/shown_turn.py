"""PURE. What one turn looks like on the page, from the frames that have arrived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ops.chat_client.frames import ENDINGS


@dataclass(kw_only=True, slots=True)
class ShownTurn:
    """One turn on the page. `key` is the key of its message; the other fields fill as frames arrive."""

    key: str
    turn: int | None = None
    """None until the service has accepted the message."""
    kinds: list[str] = field(default_factory=list)
    """Types of its frames in order; consecutive `words` count once."""
    openings: list[str] = field(default_factory=list)
    words: str = ""
    seq: int = 0
    """Number of the last chunk of words."""
    line: str = ""
    """The drafted line that came with the ending."""
    ending: str = ""
    """Type of the last frame; empty while the turn runs."""

    def take(self, frame: Mapping[str, Any]) -> bool:
        """Apply a frame. Returns False, and changes nothing, if it belongs to another turn or to none."""
        kind = frame["type"]
        if kind == "accepted" and frame["key"] == self.key:
            self.turn = frame["turn"]
        elif self.turn is None or frame.get("turn") != self.turn:
            return False
        if kind == "words":
            self.words += frame["text"]
            self.seq = frame["seq"]
        elif kind == "opening":
            self.openings.append(frame["line"])
        elif kind in ENDINGS:
            self.line = frame.get("line", "")
            self.ending = kind
        if not (kind == "words" and self.kinds[-1:] == ["words"]):
            self.kinds.append(kind)
        return True

    def resume(self, snapshot: Mapping[str, Any]) -> str:
        """Go on from the snapshot that a new socket's `hello` has of this turn. Returns the words it adds."""
        self.turn = snapshot["id"]
        added = ""
        # A paused turn keeps no words on the page.
        if snapshot["state"] != "paused":
            added = snapshot["reply"].removeprefix(self.words)
            self.words += added
            self.seq = snapshot["seq"]
        if snapshot["state"] in ENDINGS:
            self.ending = snapshot["state"]
        return added
