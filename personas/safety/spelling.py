"""PURE. Which words of the rules a written word may stand for: slips, stretched letters, digits for letters.

Every lookup is bounded by the length of the word: slips are found by deleting single letters, never by comparing
with each word of the rules.
"""

import re
from collections.abc import Iterable

MIN_SLIP_LETTERS = 4
MIN_LETTERS_FOR_ANY_SLIP = 5
"""Below this a slip is a letter left out, doubled or swapped, but not replaced: too many other words are near."""
MAX_LETTERS = 24
MIN_SQUASHED_LETTERS = 6
MAX_SQUASHED_LETTERS = 400
MAX_READINGS = 4

_RUN = re.compile(r"(.)\1+", re.DOTALL)
_STRETCHED = re.compile(r"(.)\1\1", re.DOTALL)
_LETTERS_FOR_SIGNS = [
    str.maketrans("01345789$@!|", "oieastbgsail"),
    str.maketrans("01345789$@!|", "oleastbgsaii"),
]


class Spelling:
    """Reads written words as words of the rules. `real_words` are English words that are never taken for a slip."""

    def __init__(self, vocabulary: Iterable[str], real_words: Iterable[str]) -> None:
        self._words = frozenset(vocabulary)
        self._real = frozenset(real_words) - self._words
        self._longest = max(map(len, self._words), default=0)
        self._by_deletion: dict[str, list[str]] = {}
        self._by_squeezing: dict[str, list[str]] = {}
        self._starts = {word[:end] for word in self._words for end in range(1, len(word) + 1)}
        by_deletion = self._by_deletion
        for word in sorted(self._words):
            self._by_squeezing.setdefault(_squeeze(word), []).append(word)
            if len(word) >= MIN_SLIP_LETTERS and word.isalpha():
                for shorter in _deletions(word):
                    if near := by_deletion.get(shorter):
                        near.append(word)
                    else:
                        by_deletion[shorter] = [word]

    def is_word(self, written: str) -> bool:
        """Whether this is exactly a word of the rules."""
        return written in self._words

    def is_known(self, written: str) -> bool:
        """Whether this is a word of the rules or another English word."""
        return written in self._words or written in self._real

    def plain_readings(self) -> dict[str, tuple[str, ...]]:
        """Words that are read at once: those of the rules as themselves, other English words as none."""
        return dict.fromkeys(self._real, ()) | {word: (word,) for word in self._words}

    def read(self, written: str) -> tuple[str, ...]:
        """Return the words of the rules that a written word may stand for: itself, or near ones."""
        if written in self._words:
            return (written,)
        if written in self._real or len(written) < 2:
            return ()
        if not written.isalpha():
            return self._read_signs(written)
        return self._read_letters(written)

    def _read_letters(self, written: str) -> tuple[str, ...]:
        if _is_stretched(written):
            if found := self._by_squeezing.get(_squeeze(written)):
                return tuple(found[:MAX_READINGS])
            written = _shorten_runs(written)
            if written in self._words:
                return (written,)
            if written in self._real:
                return ()
        return self._read_slip(written)

    def _read_signs(self, written: str) -> tuple[str, ...]:
        if "*" in written:
            if (bare := written.replace("*", "")) in self._words:
                return (bare,)
            return self._read_masked(written)
        for signs in _LETTERS_FOR_SIGNS:
            letters = written.translate(signs)
            if letters.isalpha():
                if letters in self._words:
                    return (letters,)
                if found := self._read_letters(letters):
                    return found
        return ()

    def _read_masked(self, written: str) -> tuple[str, ...]:
        if written.count("*") != 1 or len(written) > MAX_LETTERS:
            return ()
        near = self._by_deletion.get(written.replace("*", ""), ())
        at = written.index("*")
        return tuple(
            word
            for word in near
            if len(word) == len(written) and word[:at] == written[:at] and word[at + 1 :] == written[at + 1 :]
        )[:MAX_READINGS]

    def _read_slip(self, written: str) -> tuple[str, ...]:
        length = len(written)
        if not MIN_SLIP_LETTERS - 1 <= length <= MAX_LETTERS:
            return ()
        found = dict.fromkeys(
            word
            for word in self._by_deletion.get(written, ())
            if length >= MIN_SLIP_LETTERS or word[0] == written[0]
        )
        for shorter in _deletions(written):
            if shorter in self._words and length > MIN_SLIP_LETTERS:
                found[shorter] = None
            for word in self._by_deletion.get(shorter, ()):
                if len(word) == length and _is_one_slip(written, word):
                    found[word] = None
        return tuple(found)[:MAX_READINGS]

    def split(self, written: str) -> tuple[str, ...]:
        """Split words written without spaces into the fewest words of the rules; empty if they are not all such."""
        length = len(written)
        if length > MAX_SQUASHED_LETTERS:
            return ()
        best: list[tuple[int, int] | None] = [None] * (length + 1)
        best[0] = (0, 0)
        for start in range(length):
            reached = best[start]
            if reached is None:
                continue
            for end in range(start + 1, min(length, start + self._longest) + 1):
                part = written[start:end]
                if part not in self._starts:
                    break
                known = best[end]
                if part in self._words and (known is None or known[0] > reached[0] + 1):
                    best[end] = (reached[0] + 1, start)
        words: list[str] = []
        at = length
        while at:
            step = best[at]
            if step is None:
                return ()
            words.append(written[step[1] : at])
            at = step[1]
        return tuple(reversed(words))


def _deletions(word: str) -> dict[str, None]:
    # In order: a set has another order in each process, and the first readings are kept.
    return dict.fromkeys([word[:at] + word[at + 1 :] for at in range(len(word))])


def _squeeze(word: str) -> str:
    return _RUN.sub(r"\1", word)


def _is_stretched(word: str) -> bool:
    return _STRETCHED.search(word) is not None


def _shorten_runs(word: str) -> str:
    kept: list[str] = []
    for letter in word:
        if len(kept) < 2 or not (kept[-1] == kept[-2] == letter):
            kept.append(letter)
    return "".join(kept)


def _is_one_slip(written: str, word: str) -> bool:
    """Whether two words of one length differ by one replaced letter or by two neighbours swapped."""
    differing = [at for at in range(len(word)) if written[at] != word[at]]
    if len(differing) == 1:
        first_differs = differing[0] == 0
        return len(word) >= (MIN_LETTERS_FOR_ANY_SLIP + first_differs)
    if len(differing) == 2 and differing[1] == differing[0] + 1:
        one, two = differing
        return written[one] == word[two] and written[two] == word[one]
    return False
