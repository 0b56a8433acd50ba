"""PURE. Takes a model's thoughts out of what it says, where its server leaves them in the text of the reply.

Reads forward alone and holds back no more than the beginning of something that may become a mark: "<3" and "a < b"
go on at the next character. What stands between two marks is dropped as it comes.
"""

import re
from typing import Literal

_NAMES = frozenset(
    {
        "think", "thinking", "thought", "thoughts", "reason", "reasoning", "reflection", "scratchpad", "monologue",
        "inner_monologue", "internal_monologue", "inner_thoughts", "chain_of_thought", "antthinking", "ant_thinking",
        "analysis_thinking", "seed:think", "mm:think", "ds_think", "longcat_think", "thinking_process", "unused94",
    }
)  # fmt: skip
_SPECIAL: dict[str, "Mark"] = {
    "|start_thinking|": "open",
    "|end_thinking|": "close",
    "|begin_of_thought|": "open",
    "|end_of_thought|": "close",
    "|begin_of_solution|": "end",
    "|end_of_solution|": "end",
    "unused95": "close",
    "|channel": "open",
    "channel|": "close",
    # Harmony: each message names its channel first, and only the final one is meant to be seen.
    "|start|": "role",
    "|channel|": "channel",
    "|message|": "message",
    "|end|": "end",
    "|return|": "end",
    "|call|": "end",
}
_LITERAL: dict[str, "Mark"] = {
    "◁think▷": "open",
    "◁/think▷": "close",
    "[THINK]": "open",
    "[/THINK]": "close",
    "&lt;think&gt;": "open",
    "&lt;/think&gt;": "close",
    "&lt;thinking&gt;": "open",
    "&lt;/thinking&gt;": "close",
}
_PLAIN = (*_NAMES, "channel", "unused95")
_BARRED = (*_NAMES, *(name.strip("|") for name in _SPECIAL))
"""Names that stand behind a bar, as special tokens of models do."""
_FIRST = re.compile(r"<(?=[\s/|A-Za-z]|\Z)|\[(?=/|T|\Z)|◁|&(?=l|\Z)")
_BEGUN = re.compile(
    r"<\s{0,2}(?:/\s{0,2})?(\|?)/?\s?([a-z][\w:-]*|)\|?(\s{0,2}\w{0,20}(?:=[^<>]{0,40})?)/?",
    re.ASCII | re.IGNORECASE,
)
LONGEST_MARK = 96
"""Characters. What has not become a mark by then is none."""
HEAD_LIMIT = 64
"""Characters of a channel's name."""
HELD_LIMIT = 64 * 1024
"""Characters of a reply that are held back at most where thoughts come without a mark at their start."""

Mark = Literal["open", "close", "end", "role", "channel", "message", "partial", "none"]


def mark_at(text: str) -> tuple[Mark, int]:
    """What stands at the start of a text, and its length. The text begins with one of the four characters.

    `partial`: it may become a mark with the text that follows.
    """
    if text[0] != "<":
        for literal, mark in _LITERAL.items():
            if text.startswith(literal):
                return mark, len(literal)
        return ("partial", 0) if any(one.startswith(text) for one in _LITERAL) else ("none", 1)
    inner, closed, _ = text[1:LONGEST_MARK].partition(">")
    if closed:
        mark = _mark_of(inner.strip().lower())
        return mark, 1 if mark == "none" else len(inner) + 2
    begun = _BEGUN.fullmatch(text) if len(text) < LONGEST_MARK else None
    if begun is None:
        return "none", 1
    known, name, rest = _BARRED if begun[1] else _PLAIN, begun[2].lower(), begun[3]
    if name in known or (not rest.strip() and any(one.startswith(name) for one in known)):
        return "partial", 0
    return "none", 1


def _mark_of(inner: str) -> Mark:
    if special := _SPECIAL.get(inner):
        return special
    name, _, attribute = inner.strip("|/ ").partition(" ")
    if name not in _NAMES or (attribute and "=" not in attribute):
        return "none"
    return "close" if inner.lstrip("| ").startswith("/") else "open"


class Thoughts:
    """Feed it the text of one reply in pieces; it returns what is meant to be seen.

    `unopened`: the reply begins with thoughts and no mark, so everything waits for the mark at their end. Where none
    comes the reply is released whole at its end.
    """

    def __init__(self, *, unopened: bool = False) -> None:
        self._state: Literal["seen", "held", "thinking", "head"] = "held" if unopened else "seen"
        self._pending = ""
        self._held: list[str] = []
        self._size = 0
        self._head = ""
        self._names_channel = False
        self._speaks = False
        """Something visible has been said since the last mark."""
        self._is_out = False
        """And it was returned by an earlier `feed`."""
        self.closed_unopened = False
        """A mark at the end of thoughts came, and none stood at their start."""
        self.leaked = False
        """Such thoughts had been returned as words before."""
        self.dropped = False
        """Whether the last piece held thoughts, or was held back as they are."""

    def feed(self, text: str) -> str:
        """The part of the text that is meant to be seen, as far as is certain."""
        self.dropped = self._state != "seen" and bool(text)
        if self._state == "seen" and not self._pending and not _FIRST.search(text):
            self._is_out = self._speaks = self._speaks or bool(text.strip())
            return text
        text, self._pending = self._pending + text, ""
        seen: list[str] = []
        at = 0
        while found := _FIRST.search(text, at):
            start = found.start()
            self._take(text[at:start], seen)
            mark, length = mark_at(text[start : start + LONGEST_MARK])
            at = start + length
            if mark == "partial":
                self._pending = text[start:]
                break
            if mark == "none":
                self._take(text[start:at], seen)
            else:
                self.dropped = True
                self._act(mark, seen)
        else:
            self._take(text[at:], seen)
        self._is_out = self._speaks
        return "".join(seen)

    @property
    def is_unclosed(self) -> bool:
        """Whether thoughts have begun that have not ended."""
        return self._state == "thinking"

    def close(self) -> str:
        """The reply has ended: what was held back and is no thought."""
        pending, self._pending = self._pending, ""
        if self._state == "held":
            pending = "".join(self._held) + pending
            self._held, self._state = [], "seen"
        return pending if self._state == "seen" else ""

    def _take(self, text: str, seen: list[str]) -> None:
        """Text that is no mark, wherever it stands."""
        self._size += len(text)
        if self._state == "seen":
            seen.append(text)
            self._speaks = self._speaks or bool(text.strip())
        elif self._state == "held" and self._size <= HELD_LIMIT:
            self._held.append(text)
        elif self._state == "held":
            # No reply is so long before its first word: these are thoughts.
            self._held, self._state = [], "thinking"
        elif self._state == "head":
            self._head = (self._head + text)[:HEAD_LIMIT]

    def _act(self, mark: Mark, seen: list[str]) -> None:
        if mark == "close" and self._state in ("seen", "held"):
            self._close_unopened(seen)
        elif mark == "open":
            self._state = "thinking"
        elif mark in ("role", "channel"):
            self._state, self._head, self._names_channel = "head", "", mark == "channel"
        elif mark == "message":
            is_thought = self._names_channel and not self._head.strip().lower().startswith("final")
            self._state = "thinking" if is_thought else "seen"
        elif self._state != "held":
            self._state = "seen"
        self._held = self._held if self._state == "held" else []
        self._speaks = self._speaks and mark in ("open", "end")

    def _close_unopened(self, seen: list[str]) -> None:
        """What was said since the last mark were thoughts: what has gone out already cannot be called back."""
        if self._speaks or self._state == "held":
            self.closed_unopened = True
            self.leaked = self.leaked or self._is_out
            seen.clear()
        self._state = "seen"
