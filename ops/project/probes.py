"""Answers the probes of a monitor or proxy before the Host header is looked at: they call a process by its address."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve

PROBES = frozenset({"/healthz", "/readyz"})


class AnswerProbes:
    """A middleware that stands before every other that reads the host, the session or a cookie."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info not in PROBES:
            return self._get_response(request)
        view, arguments, named = resolve(request.path_info)
        response: HttpResponseBase = view(request, *arguments, **named)
        return response
