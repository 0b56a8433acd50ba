"""A participant's card: a link with two pictures to press, or a code to type. Nothing to remember.

A link stays in a browser's history, so it is never the whole card: alone it opens nothing. The code is the whole card,
and stands in no address. All of it is derived from a public handle with the secret key, so a stolen database holds
none of it; `card_issue` makes all earlier cards of a person useless.
"""

import hmac
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.crypto import salted_hmac

# Letters and digits that are not mistaken for one another when read aloud or copied by hand.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
HANDLE = 6
CODE = 12
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
"""In the order in which the page shows them. A change of the list changes the pictures of every card."""
# Codes of the first releases stood in links, and so in the history of browsers: they open nothing any more.
_CODE_SALT = "companion.cards.code"
_LINK_SALT = "companion.cards.link"
_PICTURES_SALT = "companion.cards.pictures"


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """What is printed: `code` opens a visit when it is typed, `link` with both `pictures` when they are pressed."""

    code: str
    link: str
    pictures: tuple[str, str]


def new_handle() -> str:
    """A fresh public half."""
    return "".join(secrets.choice(ALPHABET) for _ in range(HANDLE))


def card(handle: str, issue: int) -> Card:
    """The card of this handle and issue."""
    key: str = settings.SECRET_KEY
    return Card(
        code=_grouped(handle + _letters_for(_CODE_SALT, handle, issue, key)),
        link=_grouped(handle + _letters_for(_LINK_SALT, handle, issue, key)),
        pictures=_pictures(handle, issue, key),
    )


def handle_of(typed: str) -> str | None:
    """The handle in what was typed or linked; None if it cannot be a token at all."""
    letters = _letters(typed)
    return letters[:HANDLE] if len(letters) == HANDLE + CODE else None


def opens(typed: str, handle: str, issue: int) -> bool:
    """Whether these letters are the code of this handle and issue, under the current or an older secret key."""
    return any(_fits(typed, handle + _letters_for(_CODE_SALT, handle, issue, key)) for key in _keys())


def pictures_of(link: str, handle: str, issue: int) -> tuple[str, str] | None:
    """The pictures beside this link, under the secret key that it was made with; None if it is not this card's."""
    for key in _keys():
        if _fits(link, handle + _letters_for(_LINK_SALT, handle, issue, key)):
            return _pictures(handle, issue, key)
    return None


def are_the_same(chosen: Sequence[str], pictures: tuple[str, str]) -> bool:
    """Whether the pictures that were pressed are these, in this order."""
    return hmac.compare_digest("\0".join(chosen).encode(), "\0".join(pictures).encode())


def _keys() -> Iterator[str]:
    yield settings.SECRET_KEY
    yield from map(str, settings.SECRET_KEY_FALLBACKS)


def _fits(given: str, letters: str) -> bool:
    return hmac.compare_digest(_letters(given).encode(), letters.encode())


def _letters(typed: str) -> str:
    return "".join(letter for letter in typed.lower() if letter in ALPHABET)


def _grouped(letters: str) -> str:
    return "-".join(letters[start : start + 6] for start in range(0, len(letters), 6))


def _letters_for(salt: str, handle: str, issue: int, key: str) -> str:
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in _digest(salt, handle, issue, key)[:CODE])


def _pictures(handle: str, issue: int, key: str) -> tuple[str, str]:
    """Two that differ, so that one press too many is not taken for a choice."""
    number = int.from_bytes(_digest(_PICTURES_SALT, handle, issue, key)[:8])
    first, second = number % len(PICTURES), number // len(PICTURES) % (len(PICTURES) - 1)
    return PICTURES[first], [name for name in PICTURES if name != PICTURES[first]][second]


def _digest(salt: str, handle: str, issue: int, key: str) -> bytes:
    return salted_hmac(salt, f"{handle}:{issue}", secret=key, algorithm="sha256").digest()
