"""PURE. Turns a text into words of the rules, once: form, case, signs, split and squashed words, contractions.

One pass over the characters and one over the pieces. The only regular expressions here are unions of character
classes, which take time in proportion to the text.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from personas.safety.spelling import MIN_SQUASHED_LETTERS, Spelling

MAX_LETTERS_OF_A_PART = 4
MANY = 8
"""From this number on, tablets are too many."""

NUMBER = "#"
MANY_NUMBER = "#many"
YEAR = "#year"

WEAK, STRONG = 1, 2
"""Breaks between words: a comma, and the end of a sentence."""

_PIECES = re.compile(
    r"[a-z0-9$@*!'|]+"
    r"|\.\.+|…"  # a pause inside a sentence
    r"|[.?](?=\s|$)"  # the end of a sentence
    r"|\n[ \t]*\n|\n"
    r"|[,;:()\[\]–—\"]|(?<= )-(?= )"
    r"|  +"
)
_WORD_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789$@*!'|")
_STRONG_PIECES = (".", "?", "\n\n")
_FOLD = {
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\ufe0e"), None),
    **dict.fromkeys(map(ord, "‘’‛`´ʼ"), "'"),
    **dict.fromkeys(map(ord, "“”„«»″"), '"'),
    **dict.fromkeys(map(ord, "_+~\t\r\u00a0/\\"), " "),
    # Letters of other alphabets that look like these.
    **dict(zip(map(ord, "аеорсухіѕԁһкмтвнαοενικρτυ"), "aeopcyxisdhkmtbhaoevikptu", strict=True)),
}


@dataclass(slots=True)
class Tokens:
    """Words in order. `breaks[n]` is the break before word n; `quoted[n]` says that it stands in quotation marks."""

    words: list[tuple[str, ...]] = field(default_factory=list)
    """The words of the rules that each word may stand for; none, if it is no word of the rules."""
    plain: list[str] = field(default_factory=list)
    """The first of them, or else the word as it was written."""
    breaks: bytearray = field(default_factory=bytearray)
    quoted: bytearray = field(default_factory=bytearray)

    def add(self, readings: tuple[str, ...], written: str, brk: int, quoted: bool) -> None:
        """Add a word with its readings, and as it was written."""
        self.words.append(readings)
        self.plain.append(readings[0] if readings else written)
        self.breaks.append(brk)
        self.quoted.append(quoted)

    def extend(self, more: "Tokens") -> None:
        """Add the words of another text behind these."""
        self.words += more.words
        self.plain += more.plain
        self.breaks += more.breaks
        self.quoted += more.quoted

    def cut(self, size: int) -> None:
        """Keep the first words only."""
        del self.words[size:], self.plain[size:], self.breaks[size:], self.quoted[size:]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ambiguous:
    """A written word that stands for several words, only after and before certain others (`ill`: I will)."""

    words: tuple[str, ...]
    not_after: frozenset[str]
    before: frozenset[str]


@dataclass(slots=True)
class _Piece:
    text: str
    brk: int
    quoted: bool
    wide: bool
    """A wide gap stands before it, which parts words whose letters are split."""


class Tokenizer:
    """Reads texts. `expansions` are written forms of one or more words; `signs` are emoji with their names."""

    def __init__(
        self,
        spelling: Spelling,
        *,
        expansions: Mapping[str, tuple[str, ...]],
        ambiguous: Mapping[str, Ambiguous],
        signs: Mapping[str, str],
    ) -> None:
        self._spelling = spelling
        self._expansions = dict(expansions)
        self._ambiguous = dict(ambiguous)
        self._plain = {
            word: readings
            for word, readings in spelling.plain_readings().items()
            if word not in self._expansions and word not in self._ambiguous
        }
        self._fold = _FOLD | {ord(sign): f" {name} " for sign, name in signs.items()}

        # A table without gaps: a missing key costs more than all others together.
        self._ascii = {code: self._fold.get(code, code) for code in range(128)}

    def read(self, text: str) -> Tokens:
        """Return the words of a text. Time is proportional to its length."""
        pieces = _join_split_letters(self._cut(self._fold_text(text)), self._spelling)
        tokens = Tokens()
        plain = self._plain
        joined = False
        for index, piece in enumerate(pieces):
            if joined:
                joined = False
                continue
            readings = plain.get(piece.text)
            if readings is not None:
                tokens.add(readings, piece.text, piece.brk, piece.quoted)
                continue
            if (ambiguous := self._ambiguous.get(piece.text)) and self._means_more(ambiguous, pieces, index):
                self._add_all(tokens, ambiguous.words, piece)
            elif not self._is_known(piece.text) and (word := self._join_before(pieces, index)):
                tokens.cut(len(tokens.words) - 1)
                self._add_all(tokens, (word,), pieces[index - 1])
            elif not self._is_known(piece.text) and (word := self._join_behind(pieces, index)):
                self._add_all(tokens, (word,), piece)
                joined = True
            else:
                self._add(tokens, piece)
        return tokens

    def _means_more(self, ambiguous: Ambiguous, pieces: Sequence[_Piece], index: int) -> bool:
        before = pieces[index - 1].text if index else ""
        after = pieces[index + 1].text if index + 1 < len(pieces) else ""
        return before not in ambiguous.not_after and after in ambiguous.before

    def _is_known(self, written: str) -> bool:
        return written in self._expansions or not written.isalpha()

    def _join_before(self, pieces: Sequence[_Piece], index: int) -> str:
        """Return the word that an unknown piece makes with the one before it (`sui cide`)."""
        if not index or pieces[index].brk:
            return ""
        return self._join(pieces[index - 1].text, pieces[index].text)

    def _join_behind(self, pieces: Sequence[_Piece], index: int) -> str:
        if index + 1 >= len(pieces) or pieces[index + 1].brk:
            return ""
        return self._join(pieces[index].text, pieces[index + 1].text)

    def _join(self, first: str, second: str) -> str:
        if min(len(first), len(second)) > MAX_LETTERS_OF_A_PART or len(first) + len(second) < 4:
            return ""
        joined = first + second
        return joined if self._spelling.is_word(joined) else ""

    def _fold_text(self, text: str) -> str:
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
            text = unicodedata.normalize("NFKD", text.lower())
            text = "".join(letter for letter in text if not unicodedata.combining(letter))
        text = text.lower()
        return text.translate(self._ascii if text.isascii() else self._fold)

    def _cut(self, text: str) -> list[_Piece]:
        pieces: list[_Piece] = []
        brk, quoted, wide = STRONG, False, False
        plain = self._plain
        for match in _PIECES.findall(text):
            if match[0] not in _WORD_CHARACTERS:
                if match == '"':
                    quoted = not quoted
                elif match[0] == " ":
                    wide = True
                elif match in _STRONG_PIECES or match.count("\n") > 1:
                    brk = STRONG
                else:
                    brk = max(brk, WEAK)
                continue
            if match in plain:
                pieces.append(_Piece(match, brk, quoted, wide))
                brk, wide = 0, False
                continue
            for part in self._split_at_signs(match.strip("!'|")):
                pieces.append(_Piece(part, brk, quoted, wide))
                brk, wide = 0, False
            if match[-1] == "!":
                brk = STRONG
        return pieces

    def _split_at_signs(self, written: str) -> Sequence[str]:
        if not written:
            return ()
        if "!" in written or "|" in written:
            if self._spelling.read(written):
                return (written,)
            return [part for part in written.replace("|", "!").split("!") if part]
        if written[0].isdigit() and not written[-1].isdigit():
            digits = written.rstrip("abcdefghijklmnopqrstuvwxyz'")
            rest = written[len(digits) :]
            if digits.isdigit() and len(rest) > 3:
                return (digits, rest)
        return (written,)

    def _add(self, tokens: Tokens, piece: _Piece) -> None:
        written = piece.text
        words = self._expansions.get(written)
        if words is None and "'" in written:
            written, words = self._read_apostrophe(written)
        if words is not None:
            self._add_all(tokens, words, piece)
            return
        if written.isdigit():
            tokens.add((written, NUMBER, *_size_of_number(written)), written, piece.brk, piece.quoted)
            return
        found = self._spelling.read(written)
        if found and found[0] in self._expansions:
            self._add_all(tokens, found[:1], piece)
            return
        squashed = not found and len(written) >= MIN_SQUASHED_LETTERS and not self._spelling.is_known(written)
        if squashed and (words := self._spelling.split(written)):
            self._add_all(tokens, words, piece)
            return
        tokens.add(found, written, piece.brk, piece.quoted)

    def _add_all(self, tokens: Tokens, words: Sequence[str], piece: _Piece) -> None:
        brk = piece.brk
        for written in words:
            for word in self._expansions.get(written, (written,)):
                tokens.add((word,), word, brk, piece.quoted)
                brk = 0

    def _read_apostrophe(self, written: str) -> tuple[str, tuple[str, ...] | None]:
        bare = written.replace("'", "")
        if bare in self._expansions:
            return bare, self._expansions[bare]
        if written.endswith("'s"):
            return written[:-2], None
        return bare, None


def _size_of_number(digits: str) -> tuple[str, ...]:
    if len(digits) == 4 and digits[:2] in ("19", "20"):
        return (YEAR,)
    return (MANY_NUMBER,) if len(digits) < 4 and int(digits) >= MANY else ()


def _join_split_letters(pieces: list[_Piece], spelling: Spelling) -> list[_Piece]:
    """Join runs of three or more single letters, if what they make is made of words of the rules."""
    joined: list[_Piece] = []
    if not any(map(_begins_run, pieces, pieces[1:], pieces[2:])):
        return pieces
    start = 0
    while start < len(pieces):
        end = start
        while end < len(pieces) and len(pieces[end].text) == 1:
            end += 1
        if end - start < 3:
            joined.extend(pieces[start : max(end, start + 1)])
            start = max(end, start + 1)
            continue
        joined.extend(_read_run(pieces[start:end], spelling))
        start = end
    return joined


def _begins_run(first: _Piece, second: _Piece, third: _Piece) -> bool:
    return len(second.text) == 1 and len(first.text) == 1 and len(third.text) == 1


def _read_run(run: list[_Piece], spelling: Spelling) -> list[_Piece]:
    groups: list[list[_Piece]] = [[]]
    for piece in run:
        if piece.wide and groups[-1]:
            groups.append([])
        groups[-1].append(piece)
    if len(groups) == len(run):
        groups = [run]
    read: list[_Piece] = []
    for group in groups:
        letters = "".join(piece.text for piece in group)
        first = group[0]
        found = spelling.read(letters)[:1] or spelling.split(letters) if len(letters) > 1 else ()
        if found:
            read.extend(
                _Piece(word, first.brk if place == 0 else 0, first.quoted, False)
                for place, word in enumerate(found)
            )
        else:
            read.extend(group)
    return read
