"""A participant's card: a link, or the same letters typed. Nothing to remember, and nothing stored that opens it.

A token is a public handle and a code derived from it with the secret key. A stolen database holds no token;
`card_issue` makes all earlier cards of a person useless.
"""

import hmac
import secrets

from django.conf import settings
from django.utils.crypto import salted_hmac

# Letters and digits that are not mistaken for one another when read aloud or copied by hand.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
HANDLE = 6
CODE = 12
_SALT = "companion.cards"


def new_handle() -> str:
    """A fresh public half."""
    return "".join(secrets.choice(ALPHABET) for _ in range(HANDLE))


def token(handle: str, issue: int) -> str:
    """The letters on the card, in groups of six."""
    whole = handle + _code(handle, issue, settings.SECRET_KEY)
    return "-".join(whole[start : start + 6] for start in range(0, len(whole), 6))


def handle_of(typed: str) -> str | None:
    """The handle in what was typed or linked; None if it cannot be a token at all."""
    letters = _letters(typed)
    return letters[:HANDLE] if len(letters) == HANDLE + CODE else None


def opens(typed: str, handle: str, issue: int) -> bool:
    """Whether these letters are the card of this handle and issue, under the current or an older secret key."""
    letters = _letters(typed)
    keys: list[str] = [settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS)]
    return any(
        hmac.compare_digest(letters.encode(), (handle + _code(handle, issue, key)).encode()) for key in keys
    )


def _letters(typed: str) -> str:
    return "".join(letter for letter in typed.lower() if letter in ALPHABET)


def _code(handle: str, issue: int, key: str) -> str:
    digest = salted_hmac(_SALT, f"{handle}:{issue}", secret=key, algorithm="sha256").digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:CODE])
