"""PURE. Letters that are taken for one another when a code is copied from paper or from a screen.

Codes hold no letter of `UNUSED`, so such a letter is a misread one.
"""

import hmac
import unicodedata
from collections.abc import Iterator
from itertools import islice, product

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that are not mistaken for one another when read aloud."""
UNUSED = "01ilo"
MEANT = {
    "0": "dq",
    "o": "dq",
    "1": "j7",
    "i": "j",
    "l": "j7",
    "2": "2z",
    "z": "z2",
    "5": "5s",
    "s": "s5",
    "8": "8b",
    "b": "b8",
    "9": "9gq",
    "g": "g9q",
    "q": "qg9",
    "u": "uv",
    "v": "vu",
}
"""What a typed letter may stand for; every other letter stands for itself."""
MAX_READINGS = 729


def read_letters(typed: str) -> str:
    """Return the letters of a typed code: without case, width, spaces and marks."""
    plain = unicodedata.normalize("NFKC", typed).lower()
    return "".join(letter for letter in plain if letter in ALPHABET or letter in UNUSED)


def list_readings(letters: str) -> Iterator[str]:
    """Every text that these typed letters may stand for, as typed first; at most `MAX_READINGS`."""
    choices = (MEANT.get(letter, letter) for letter in letters)
    return islice(("".join(reading) for reading in product(*choices)), MAX_READINGS)


def stands_for(typed: str, printed: str) -> bool:
    """Whether the typed letters may stand for the printed ones. Takes as long for every typed text."""
    if len(typed) != len(printed):
        return False
    read = [
        right if right in MEANT.get(given, given) else given
        for given, right in zip(typed, printed, strict=True)
    ]
    return hmac.compare_digest("".join(read).encode(), printed.encode())
