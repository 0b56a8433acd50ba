"""Cookies of a socket: Channels' own reading of them comes with a session stack that is not used here."""

from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie


def cookie_of(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    """The value of a cookie among the headers of a socket's scope."""
    cookies: SimpleCookie = SimpleCookie()
    for header, value in headers:
        if header == b"cookie":
            try:
                cookies.load(value.decode("latin1"))
            except CookieError:
                return None
    morsel = cookies.get(name)
    return morsel.value if morsel else None
