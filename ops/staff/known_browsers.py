"""Browsers in which a member of staff has signed in before: their tries are counted apart from those of strangers.

So a person who types wrong passwords for a colleague's name locks out that colleague nowhere they have been. The cookie
opens nothing: it is asked for beside the password, and names no one in clear.
"""

import secrets
import unicodedata
from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac

_SALT = "ops.staff.known_browsers"
MAX_AGE_S = 180 * 24 * 3600
MAX_NAMES = 12
"""People of one browser that are remembered, the last ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownBrowser:
    """`number` is random and names the browser; `names` are digests of the usernames that signed in there."""

    number: str
    names: tuple[str, ...]

    def knows(self, username: str) -> bool:
        """Whether this person has signed in here."""
        return _digest(username) in self.names


def read_browser(request: HttpRequest) -> KnownBrowser:
    """The browser that sends this request; a new one without names if its cookie is missing, old or forged."""
    try:
        number, names = signing.loads(
            request.COOKIES.get(settings.BROWSER_COOKIE_NAME, ""), salt=_SALT, max_age=MAX_AGE_S
        )
        return KnownBrowser(number=str(number), names=tuple(map(str, names)))
    except (signing.BadSignature, TypeError, ValueError):
        return KnownBrowser(number=secrets.token_urlsafe(12), names=())


def count_apart(request: HttpRequest, username: str) -> str:
    """What tries of this name are counted under in a browser that knows it; empty for any other."""
    browser = read_browser(request)
    return browser.number if browser.knows(username) else ""


def remember(request: HttpRequest, response: HttpResponseBase, username: str) -> None:
    """Have the browser know this person, who has just signed in."""
    browser = read_browser(request)
    own = _digest(username)
    names = [*(name for name in browser.names if name != own), own][-MAX_NAMES:]
    response.set_cookie(
        settings.BROWSER_COOKIE_NAME,
        signing.dumps([browser.number, names], salt=_SALT),
        max_age=MAX_AGE_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _digest(username: str) -> str:
    name = unicodedata.normalize("NFKC", username).strip().casefold()
    return salted_hmac(_SALT, name).hexdigest()[:16]
