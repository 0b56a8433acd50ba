"""PURE. The pieces of one reply, each said once.

Some servers send the whole text so far each time, or all of it once more at the end.
"""

LAST_REPEATS = 20
"""Characters from which on a last piece that is the whole reply again is a repetition and not a word said twice."""


class Deltas:
    """Feed it the pieces as they come; it returns what is new in each.

    Whether pieces add up or each holds all of the reply is clear at the third at the latest: a second that begins
    with the first is kept back until then. `pending` holds it; at the end it is the whole reply.
    """

    def __init__(self) -> None:
        self._so_far: list[str] = []
        self._first = ""
        self._second: str | None = None
        self._whole: str | None = None
        self._is_decided = False
        self.rewrites = False
        """A server that sends the whole text each time has changed what it had sent before."""

    def feed(self, text: str, *, is_last: bool = False) -> str:
        """What is new in this piece; `is_last`: the reason why the reply ends came with it."""
        if not text:
            return ""
        if self._whole is not None:
            return self._grown(text)
        if is_last and len(text) >= LAST_REPEATS and text == "".join(self._so_far):
            return ""
        if self._is_decided:
            self._so_far.append(text)
            return text
        return self._undecided(text)

    def close(self) -> str:
        """The reply has ended: what was kept back."""
        second, self._second = self._second, None
        return "" if second is None else second[len(self._first) :]

    def _undecided(self, text: str) -> str:
        if not self._first:
            self._first = text
            self._so_far.append(text)
            return text
        if self._second is None:
            if text.startswith(self._first) and len(text) > len(self._first):
                self._second = text
                return ""
            return self._decide(text)
        second, self._second = self._second, None
        if text.startswith(second):
            self._whole = second
            return second[len(self._first) :] + self._grown(text)
        return self._decide(second + text)

    def _decide(self, text: str) -> str:
        self._is_decided = True
        self._so_far.append(text)
        return text

    def _grown(self, text: str) -> str:
        whole = self._whole or ""
        if whole.startswith(text):
            # The same again, or an older one.
            return ""
        if not text.startswith(whole):
            self.rewrites = True
            return ""
        self._whole = text
        return text[len(whole) :]
