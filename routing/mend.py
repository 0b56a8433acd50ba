"""PURE. Makes any text a provider sends fit to be stored: no NUL, no lone surrogate, pairs joined over deltas."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


class Mender:
    """Mends the pieces of one reply in order; a high surrogate at the end of one waits for the next."""

    def __init__(self) -> None:
        self._half = ""

    def mend(self, text: str) -> str:
        """The part of the text that is certain by now; may be empty."""
        if "\0" in text:
            text = text.replace("\0", "")
        if not self._half and (text.isascii() or not _SURROGATE.search(text)):
            return text
        if not text:
            return ""
        text = self._half + text
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        # Over UTF-16 two halves become the character they meant, and a lone half the replacement character.
        certain = text[: len(text) - len(self._half)]
        return certain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def close(self) -> str:
        """What is left at the end: a half that never met its other."""
        left, self._half = self._half, ""
        return _REPLACEMENT if left else ""
