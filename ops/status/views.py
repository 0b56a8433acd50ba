"""What machines ask: is it alive, is it ready, what are its figures."""

import hmac
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ops.status.exposition import CONTENT_TYPE, format_exposition
from ops.status.figures import StatusSettings, get_status


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while this process answers."""
    return JsonResponse({"alive": True})


@require_safe
@never_cache
def readyz(request: HttpRequest, is_ready: Callable[[], bool]) -> HttpResponse:
    """200 while new people may be sent to this process, else 503: starting, draining, or without its database."""
    ready = is_ready()
    return JsonResponse({"ready": ready}, status=200 if ready else 503)


@require_safe
@never_cache
def status_json(request: HttpRequest, status_settings: Callable[[], StatusSettings]) -> HttpResponse:
    """The figures of the moment as JSON, for signed-in staff or the bearer of OPS_TOKEN."""
    return JsonResponse(get_status(status_settings())) if may_see_figures(request) else _refuse()


@require_safe
@never_cache
def metrics(request: HttpRequest, figures: Callable[[], dict[str, Any]]) -> HttpResponse:
    """The same figures in the text format of Prometheus, at most a second old."""
    if not may_see_figures(request):
        return _refuse()
    return HttpResponse(format_exposition(figures(), at=datetime.now(UTC)), content_type=CONTENT_TYPE)


def may_see_figures(request: HttpRequest) -> bool:
    """Signed-in staff, or the bearer of OPS_TOKEN where one is set."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.OPS_TOKEN
    if expected and scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), expected.encode()):
        return True
    return request.user.is_authenticated and request.user.is_active and request.user.is_staff


def _refuse() -> HttpResponse:
    response = JsonResponse({"problem": "Sign in as staff, or send OPS_TOKEN as a bearer token."}, status=401)
    response["WWW-Authenticate"] = "Bearer"
    return response
