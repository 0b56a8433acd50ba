"""A participant's card: a link with two pictures to press, or a code to type.

A link stays in the browser's history, so it opens nothing without the pictures. The code opens a visit alone and is
in no address. All parts are derived from a public handle with the secret key, so a stolen database contains none of
them. Raising `card_issue` invalidates all earlier cards of a participant.
"""

import hmac
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.crypto import salted_hmac

from companion.look_alikes import ALPHABET, list_readings, read_letters, stands_for

HANDLE_CHARS = 6
CODE_CHARS = 12
PICTURES = (
    "apple",
    "bell",
    "boat",
    "cup",
    "fish",
    "heart",
    "house",
    "key",
    "moon",
    "star",
    "sun",
    "tree",
)
"""In the order of the page. Changing the list changes the pictures of every card."""
# The salts differ from those of the first releases, whose codes were in links and so in browser histories.
_CODE_SALT = "companion.cards.code"
_LINK_SALT = "companion.cards.link"
_PICTURES_SALT = "companion.cards.pictures"


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """What is printed. `code` opens a visit by itself, `link` together with both `pictures`."""

    code: str
    link: str
    pictures: tuple[str, str]


def make_handle() -> str:
    """Return a new random handle, the public part of a card."""
    return "".join(secrets.choice(ALPHABET) for _ in range(HANDLE_CHARS))


def derive_card(handle: str, issue: int) -> Card:
    """Derive the card of this handle and issue under the current secret key."""
    key: str = settings.SECRET_KEY
    return Card(
        code=_group(handle + _derive_letters(_CODE_SALT, handle, issue, key)),
        link=_group(handle + _derive_letters(_LINK_SALT, handle, issue, key)),
        pictures=_derive_pictures(handle, issue, key),
    )


def parse_handle(typed: str) -> str | None:
    """Return the handle in a code or link; None if it has the wrong length."""
    letters = _normalize(typed)
    return letters[:HANDLE_CHARS] if len(letters) == HANDLE_CHARS + CODE_CHARS else None


def list_handles(typed: str) -> list[str]:
    """The handles that a typed code may begin with, look-alike letters read either way; none for a wrong length."""
    letters = read_letters(typed)
    if len(letters) != HANDLE_CHARS + CODE_CHARS:
        return []
    return [reading for reading in list_readings(letters[:HANDLE_CHARS]) if set(reading) <= set(ALPHABET)]


def is_code(typed: str, handle: str, issue: int) -> bool:
    """Whether `typed` is the code of this handle and issue, under the current or an older secret key.

    Case, spaces and look-alike letters make no difference.
    """
    letters = read_letters(typed)
    return any(
        stands_for(letters, handle + _derive_letters(_CODE_SALT, handle, issue, key))
        for key in _secret_keys()
    )


def find_pictures(link: str, handle: str, issue: int) -> tuple[str, str] | None:
    """Return the pictures of this link, under the secret key it was derived with; None if the link does not match."""
    for key in _secret_keys():
        if _matches(link, handle + _derive_letters(_LINK_SALT, handle, issue, key)):
            return _derive_pictures(handle, issue, key)
    return None


def are_pictures(chosen: Sequence[str], handle: str, issue: int) -> bool:
    """Whether these are the pictures of this handle and issue, under the current or an older secret key."""
    return any(pictures_match(chosen, _derive_pictures(handle, issue, key)) for key in _secret_keys())


def pictures_match(chosen: Sequence[str], pictures: tuple[str, str]) -> bool:
    """Whether these pictures were chosen, in this order."""
    return hmac.compare_digest("\0".join(chosen).encode(), "\0".join(pictures).encode())


def _secret_keys() -> Iterator[str]:
    yield settings.SECRET_KEY
    yield from map(str, settings.SECRET_KEY_FALLBACKS)


def _matches(given: str, letters: str) -> bool:
    return hmac.compare_digest(_normalize(given).encode(), letters.encode())


def _normalize(typed: str) -> str:
    return "".join(letter for letter in typed.lower() if letter in ALPHABET)


def _group(letters: str) -> str:
    return "-".join(letters[start : start + 6] for start in range(0, len(letters), 6))


def _derive_letters(salt: str, handle: str, issue: int, key: str) -> str:
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in _digest(salt, handle, issue, key)[:CODE_CHARS])


def _derive_pictures(handle: str, issue: int, key: str) -> tuple[str, str]:
    """Derive two different pictures, so that a double press is never a right choice."""
    number = int.from_bytes(_digest(_PICTURES_SALT, handle, issue, key)[:8])
    first, second = number % len(PICTURES), number // len(PICTURES) % (len(PICTURES) - 1)
    return PICTURES[first], [name for name in PICTURES if name != PICTURES[first]][second]


def _digest(salt: str, handle: str, issue: int, key: str) -> bytes:
    return salted_hmac(salt, f"{handle}:{issue}", secret=key, algorithm="sha256").digest()
