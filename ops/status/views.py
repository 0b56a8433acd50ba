"""A first look for operators: is it alive, is it ready, what is it doing."""

import hmac
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ops.status.exposition import CONTENT_TYPE, exposition
from ops.status.figures import Settings, status


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers at all."""
    return JsonResponse({"alive": True})


@require_safe
@never_cache
def readyz(request: HttpRequest, is_ready: Callable[[], bool]) -> HttpResponse:
    """200 while new people may be sent to this process, else 503: starting, draining, or without its database."""
    ready = is_ready()
    return JsonResponse({"ready": ready}, status=200 if ready else 503)


@require_safe
@never_cache
def status_json(request: HttpRequest, facts: Callable[[], Settings]) -> HttpResponse:
    """The figures of the moment, for signed-in staff or the bearer of OPS_TOKEN."""
    return JsonResponse(status(facts())) if may_see_figures(request) else _for_staff()


@require_safe
@never_cache
def metrics(request: HttpRequest, figures: Callable[[], dict[str, Any]]) -> HttpResponse:
    """The same figures in Prometheus' text format, at most a second old however many ask."""
    if not may_see_figures(request):
        return _for_staff()
    return HttpResponse(exposition(figures(), at=datetime.now(UTC)), content_type=CONTENT_TYPE)


def may_see_figures(request: HttpRequest) -> bool:
    """Signed-in staff, or the bearer of OPS_TOKEN where one is set."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.OPS_TOKEN
    if expected and scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), expected.encode()):
        return True
    return request.user.is_authenticated and request.user.is_active and request.user.is_staff


def _for_staff() -> HttpResponse:
    response = JsonResponse({"problem": "Sign in as staff, or send OPS_TOKEN as a bearer token."}, status=401)
    response["WWW-Authenticate"] = "Bearer"
    return response
