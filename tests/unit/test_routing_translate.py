"""No exception of an HTTP library is unmapped."""

import inspect

import aiohttp
import httpx
import pytest
from aiohttp import http_exceptions

from routing.adapters.translate import class_of
from routing.errors import FailureClass as F


def list_subclasses(module: object, root: type[Exception]) -> list[type[Exception]]:
    return [kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, root)]


def build_bare(kind: type[Exception]) -> Exception:
    """An instance without arguments: classification reads only the class."""
    return kind.__new__(kind)


EXPECTED: dict[type[Exception], F] = {
    httpx.ConnectError: F.NETWORK,
    httpx.ConnectTimeout: F.NETWORK,
    httpx.ReadError: F.NETWORK,
    httpx.ReadTimeout: F.NETWORK,
    httpx.WriteError: F.NETWORK,
    httpx.WriteTimeout: F.NETWORK,
    httpx.CloseError: F.NETWORK,
    httpx.NetworkError: F.NETWORK,
    httpx.TimeoutException: F.NETWORK,
    httpx.ProtocolError: F.NETWORK,
    httpx.RemoteProtocolError: F.NETWORK,
    httpx.TransportError: F.NETWORK,
    httpx.RequestError: F.NETWORK,
    httpx.HTTPError: F.NETWORK,
    # Caused by this side, not by the provider.
    httpx.PoolTimeout: F.LOCAL_LIMIT,
    httpx.UnsupportedProtocol: F.MISCONFIGURED,
    httpx.LocalProtocolError: F.MISCONFIGURED,
    httpx.ProxyError: F.MISCONFIGURED,
    httpx.TooManyRedirects: F.MISCONFIGURED,
    httpx.InvalidURL: F.MISCONFIGURED,
    httpx.DecodingError: F.INCOMPLETE,
    # These would be bugs here: the question is not asked again, and an alert is raised.
    httpx.HTTPStatusError: F.UNKNOWN,
    httpx.CookieConflict: F.UNKNOWN,
    httpx.StreamError: F.UNKNOWN,
    httpx.StreamConsumed: F.UNKNOWN,
    httpx.StreamClosed: F.UNKNOWN,
    httpx.ResponseNotRead: F.UNKNOWN,
    httpx.RequestNotRead: F.UNKNOWN,
}


def test_every_exception_httpx_has_is_expected_here() -> None:
    assert set(list_subclasses(httpx, Exception)) == set(EXPECTED)


@pytest.mark.parametrize("kind", EXPECTED, ids=lambda kind: kind.__name__)
def test_every_exception_of_httpx_has_its_class(kind: type[Exception]) -> None:
    assert class_of(build_bare(kind)) is EXPECTED[kind]


@pytest.mark.parametrize(
    "kind", list_subclasses(aiohttp, aiohttp.ClientError), ids=lambda kind: kind.__name__
)
def test_every_exception_the_other_transport_may_let_through_has_its_class(kind: type[Exception]) -> None:
    expected = F.MISCONFIGURED if issubclass(kind, aiohttp.InvalidURL) else F.NETWORK
    assert class_of(build_bare(kind)) is expected


@pytest.mark.parametrize(
    "kind", list_subclasses(http_exceptions, http_exceptions.HttpProcessingError), ids=lambda k: k.__name__
)
def test_an_answer_that_cannot_be_parsed_is_a_network_failure(kind: type[Exception]) -> None:
    assert class_of(build_bare(kind)) is F.NETWORK


@pytest.mark.parametrize("kind", [ConnectionResetError, BrokenPipeError, OSError, TimeoutError])
def test_what_the_system_reports_is_a_network_failure(kind: type[Exception]) -> None:
    assert class_of(kind()) is F.NETWORK


@pytest.mark.parametrize("kind", [ValueError, KeyError, RuntimeError, AssertionError])
def test_an_unexpected_exception_is_unknown(kind: type[Exception]) -> None:
    assert class_of(kind()) is F.UNKNOWN
