"""PURE. Whether a participant takes leave: in the whole message, or in its last sentence.

It must be right where it says yes: a person who is told goodbye while they still talk is sent away.
"""

import re

from personas.safety.rules import PhraseReader

MAX_WORDS = 8
"""Words in a sentence that takes leave. Longer ones tell something."""
MAX_SENTENCES = 4
"""Sentences in a message that says nothing else."""
MAX_CHARS = 400
TAIL_CHARS = 200
"""Characters from the end in which the last sentence is looked for."""
_END = re.compile(r"[.!…\n\r]+")


class FarewellReader:
    """Reads sentence by sentence. A question takes no leave: it waits for an answer."""

    def __init__(self, *, goodbye: PhraseReader, no_goodbye: PhraseReader, courtesy: PhraseReader) -> None:
        self._goodbye = goodbye
        self._no_goodbye = no_goodbye
        self._courtesy = courtesy

    def is_whole(self, text: str) -> bool:
        """Whether one sentence takes leave, and each other one does so too or is a courtesy."""
        sentences = self._split(text, MAX_SENTENCES)
        if "?" in text or not sentences or not all(map(_is_short, sentences)):
            return False
        farewells = [sentence for sentence in sentences if self._takes_leave(sentence)]
        return bool(farewells) and all(
            sentence in farewells or self._courtesy.matches(sentence) for sentence in sentences
        )

    def is_at_end(self, text: str) -> bool:
        """Whether the last sentence takes leave."""
        tail = text.rstrip(" .!…\n\r\t")
        last = _END.split(tail[-TAIL_CHARS:])[-1].strip()
        return "?" not in last and _is_short(last) and self._takes_leave(last)

    def is_barred(self, text: str) -> bool:
        """Whether a word stands in the text that no mere farewell has, such as "forever" or "forgive"."""
        return self._no_goodbye.matches(text)

    def _takes_leave(self, sentence: str) -> bool:
        return self._goodbye.matches(sentence) and not self._no_goodbye.matches(sentence)

    @staticmethod
    def _split(text: str, most: int) -> list[str]:
        """The sentences of a text; none if there are more than `most`."""
        if len(text) > MAX_CHARS:
            return []
        sentences = [part.strip() for part in _END.split(text) if any(map(str.isalnum, part))]
        return sentences if len(sentences) <= most else []


def _is_short(sentence: str) -> bool:
    return 0 < len(sentence.split()) <= MAX_WORDS
