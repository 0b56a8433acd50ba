"""Reads the cookies of a socket with Django's own parser, so that pages and sockets agree on a session."""

from collections.abc import Iterable
from io import BytesIO

from django.core.handlers.asgi import ASGIRequest


def read_cookie(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    """Return the value of a cookie in the headers of an ASGI scope; None if it is not there."""
    cookies = [(header, value) for header, value in headers if header == b"cookie"]
    request = ASGIRequest({"type": "http", "method": "GET", "path": "/", "headers": cookies}, BytesIO())
    return request.COOKIES.get(name)
