"""PURE. Reads what the companion says, as it comes, at a cost in proportion to its length."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from personas.safety.automaton import Automaton, Match, Scanner
from personas.safety.contexts import Contexts, Guard
from personas.safety.findings import BROKEN_RULE, ReplyFinding
from personas.safety.patterns import Pattern
from personas.safety.rules import ContextMaterial
from personas.safety.tokens import STRONG, WEAK, Tokenizer, Tokens

MAX_OPEN_LETTERS = 64
"""An unfinished word longer than this is read as it stands, so that no text is read twice."""
MIN_PHONE_DIGITS = 7
MIN_DIGITS_WITHOUT_MARK = 10
"""A number without a leading 0 or + is taken for a telephone number from this many digits on."""

_FINISHED = re.compile(r".*[^\w'’*$@|]", re.DOTALL)
"""Finished words at the beginning of a text: up to the last character that ends a word."""

LINK = "link"
PHONE_NUMBER = "phone-number"
_ENDS_OF_ADDRESSES = frozenset(
    {"com", "org", "net", "uk", "gov", "io", "info", "edu", "ie", "eu", "ca", "au"}
)
_BETWEEN = " -().\u00a0\u2011"
_BETWEEN_DIGITS = frozenset(_BETWEEN)
_SPACE = re.compile(r"\s")
_OF_NUMBERS = re.compile(r"[0-9+]")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyRule:
    """One pattern with what it means."""

    pattern: Pattern
    finding: ReplyFinding
    apart_from: frozenset[Guard] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyMaterial:
    """What every reader of replies shares."""

    tokenizer: Tokenizer
    rules: Sequence[ReplyRule]
    automaton: Automaton
    contexts: ContextMaterial
    link: ReplyFinding
    phone_number: ReplyFinding


class ReplyReader:
    """Reads one reply piece by piece. `feed` returns a stop as soon as its words are finished; `finish` a flag."""

    def __init__(self, material: ReplyMaterial) -> None:
        self._material = material
        self._tokens = Tokens()
        self._scanner = Scanner(material.automaton, self._tokens)
        self._context_scanner = Scanner(material.contexts.automaton, self._tokens)
        self._open = ""
        self._brk = STRONG
        self._weighed = 0
        self._flag: ReplyFinding | None = None
        self._stop: ReplyFinding | None = None
        self._addresses = _AddressWatch(material)

    def feed(self, text: str) -> ReplyFinding | None:
        """Read on. Returns the first `stop` whose last word is finished: “person” may go on as “personality”."""
        if self._stop is None:
            try:
                self._stop = self._addresses.feed(text) or self._read(text)
            except Exception:
                self._flag = self._flag or _broken()
        return self._stop

    def is_in_doubt(self) -> bool:
        """Whether the unfinished last word completes a stop if it ends here. Such a word must not be shown yet."""
        if self._stop is not None or not self._open:
            return False
        try:
            return self._peek(self._open) is not None or self._addresses.finish() is not None
        except Exception:
            self._flag = self._flag or _broken()
            return False

    def skip(self, text: str) -> None:
        """Read on without findings: this text was read before."""
        self.feed(text)
        self._take_in(self._open)
        self._open = ""
        self._scanner.advance(final=False)
        self._weighed = len(self._scanner.matches)
        self._stop = self._flag = None

    def finish(self) -> ReplyFinding | None:
        """End the reply. Returns a stop if there was one, or else the first flag."""
        if self._stop is None:
            try:
                self._take_in(self._open)
                self._open = ""
                self._scanner.advance(final=True)
                self._stop = self._addresses.finish() or self._weigh_new()
            except Exception:
                self._flag = self._flag or _broken()
        return self._stop or self._flag

    def _read(self, text: str) -> ReplyFinding | None:
        pending = self._open + text
        end = max(pending.rfind(" "), pending.rfind("\n"))
        if len(pending) - end > MAX_OPEN_LETTERS:
            end = len(pending) - 1
        self._take_in(pending[: end + 1])
        self._open = pending[end + 1 :]
        self._scanner.advance(final=False)
        finished = _FINISHED.match(self._open)
        return self._weigh_new() or (self._peek(finished[0]) if finished else None)

    def _take_in(self, text: str) -> None:
        if text.strip():
            self._tokens.extend(self._read_tokens(text))
        if text:
            self._brk = _break_after(text) or (self._brk if not text.strip() else 0)

    def _read_tokens(self, text: str) -> Tokens:
        more = self._material.tokenizer.read(text)
        if more.words:
            more.breaks[0] = self._brk
        return more

    def _peek(self, text: str) -> ReplyFinding | None:
        more = self._read_tokens(text)
        matches = self._scanner.peek(more)
        if not matches:
            return None
        self._context_scanner.advance(final=False)
        size = len(self._tokens.words)
        self._tokens.extend(more)
        try:
            return self._weigh(matches, keep_flags=False)
        finally:
            self._tokens.cut(size)

    def _weigh_new(self) -> ReplyFinding | None:
        new = self._scanner.located(self._weighed)
        self._weighed = len(self._scanner.matches)
        return self._weigh(new, keep_flags=True) if new else None

    def _weigh(self, matches: Sequence[Match], *, keep_flags: bool) -> ReplyFinding | None:
        material = self._material.contexts
        self._context_scanner.advance(final=False)
        contexts = Contexts(self._tokens, material.words, material.roles, self._context_scanner.located())
        for match in matches:
            rule = self._material.rules[match.pattern]
            if contexts.guard_of(match, apart_from=rule.apart_from) is None:
                if rule.finding.severity == "stop":
                    return rule.finding
                if keep_flags:
                    self._flag = self._flag or rule.finding
        return None


def _broken() -> ReplyFinding:
    why = "A rule could not be applied to this reply."
    return ReplyFinding(severity="flag", rule=BROKEN_RULE, kind=BROKEN_RULE, why=why, broken=True)


def _break_after(text: str) -> int:
    bare = text.rstrip(" \t\r")
    if bare.endswith("\n\n") or bare.rstrip().endswith((".", "!", "?")):
        return STRONG
    return WEAK if bare.endswith((",", ";", ":", "\n")) else 0


class _AddressWatch:
    """Finds links, e-mail addresses and telephone numbers, letter by letter."""

    def __init__(self, material: ReplyMaterial) -> None:
        self._material = material
        self._word = ""
        self._digits = 0
        self._marked = False
        self._between = 0

    def feed(self, text: str) -> ReplyFinding | None:
        if not self._digits and not self._marked and _is_without_digits(text):
            return self._feed_words(text)
        for letter in text.lower():
            if self._counts_as_phone(letter):
                return self._material.phone_number
            if letter.isspace():
                if _is_address(self._word):
                    return self._material.link
                self._word = ""
            elif len(self._word) < MAX_OPEN_LETTERS:
                self._word += letter
        return self._material.link if _begins_address(self._word) else None

    def _feed_words(self, text: str) -> ReplyFinding | None:
        """Read a text that holds no part of a number, word by word: most of every reply."""
        *finished, last = _SPACE.split(self._word + text.lower())
        for word in finished:
            if _is_address(word[:MAX_OPEN_LETTERS]):
                return self._material.link
        self._word = last[:MAX_OPEN_LETTERS]
        # As `_counts_as_phone` leaves it: the third in a row starts again from 0.
        stripped = len(text.rstrip(_BETWEEN))
        between = len(text) - stripped + (0 if stripped else self._between)
        self._between = between % 3
        return self._material.link if _begins_address(self._word) else None

    def finish(self) -> ReplyFinding | None:
        """End the reply, and with it its last word."""
        return self._material.link if _is_address(self._word) else None

    def _counts_as_phone(self, letter: str) -> bool:
        if letter.isdigit():
            if not self._digits and letter == "0":
                self._marked = True
            self._digits += 1
            self._between = 0
            return self._digits >= (MIN_PHONE_DIGITS if self._marked else MIN_DIGITS_WITHOUT_MARK)
        if letter == "+":
            self._marked, self._digits = True, 0
        elif letter in _BETWEEN_DIGITS and self._between < 2:
            self._between += 1
        else:
            self._marked, self._digits, self._between = False, 0, 0
        return False


def _is_without_digits(text: str) -> bool:
    # Digits of other scripts are left to the pass by letters.
    return text.isascii() and not _OF_NUMBERS.search(text)


def _begins_address(word: str) -> bool:
    return "://" in word or word.startswith("www.")


def _is_address(word: str) -> bool:
    if "." not in word and "/" not in word:
        return False
    if _begins_address(word):
        return True
    bare = word.strip(".,;:!?()[]\"'<>")
    host = bare.partition("/")[0]
    parts = host.rpartition("@")[2].split(".")
    return len(parts) > 1 and bool(parts[-2]) and parts[-1] in _ENDS_OF_ADDRESSES and parts[-2].isalnum()
