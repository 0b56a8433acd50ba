"""Every exception of the HTTP libraries, translated in this one place. Nothing of theirs goes further."""

import aiohttp
import httpx

from routing.errors import FailureClass

_CLASSES: tuple[tuple[type[Exception], FailureClass], ...] = (
    # The first that fits counts, so the exact ones come before the general ones.
    (httpx.PoolTimeout, FailureClass.LOCAL_LIMIT),
    (httpx.UnsupportedProtocol, FailureClass.MISCONFIGURED),
    (httpx.LocalProtocolError, FailureClass.MISCONFIGURED),
    (httpx.ProxyError, FailureClass.MISCONFIGURED),
    (httpx.TooManyRedirects, FailureClass.MISCONFIGURED),
    (httpx.InvalidURL, FailureClass.MISCONFIGURED),
    (httpx.HTTPStatusError, FailureClass.UNKNOWN),
    (httpx.CookieConflict, FailureClass.UNKNOWN),
    (httpx.StreamError, FailureClass.UNKNOWN),
    (httpx.DecodingError, FailureClass.INCOMPLETE),
    (httpx.TransportError, FailureClass.NETWORK),
    (httpx.HTTPError, FailureClass.NETWORK),
    # The aiohttp transport lets these through as they are: an answer that is not HTTP, and the like.
    (aiohttp.InvalidURL, FailureClass.MISCONFIGURED),
    (aiohttp.ClientError, FailureClass.NETWORK),
    (aiohttp.http_exceptions.HttpProcessingError, FailureClass.NETWORK),
    (OSError, FailureClass.NETWORK),
)


def class_of(error: Exception) -> FailureClass:
    """The class of any exception raised while a request was sent or a body read; UNKNOWN for an unlisted one."""
    return next((failure for kind, failure in _CLASSES if isinstance(error, kind)), FailureClass.UNKNOWN)


def code_of(error: Exception) -> str:
    """A short code for the record: the name of the exception's class, the transport's own if it has one."""
    return type(error.__cause__ or error).__name__[:64]
