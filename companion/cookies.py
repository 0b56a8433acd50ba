"""Cookies of a socket, read as Django reads those of a page: a browser sends both the same header."""

from collections.abc import Iterable
from io import BytesIO

from django.core.handlers.asgi import ASGIRequest


def read_cookie(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    """The value of a cookie among the headers of a socket's scope; None if it is not there."""
    ours = [(header, value) for header, value in headers if header == b"cookie"]
    request = ASGIRequest({"type": "http", "method": "GET", "path": "/", "headers": ours}, BytesIO())
    return request.COOKIES.get(name)
