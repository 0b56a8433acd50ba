"""What staff read where there is no page, no right, or a fault; participants have pages of their own for that.

Django renders these pages in a thread of the event loop, not in that of the request, and closes no connection there. So
each page closes its own: otherwise every such thread would keep one of the pool for ever, also one that has died.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import csrf, defaults

from ops import audit

STAFF_PAGES = ("/ops/", "/staff/")

Arguments = ParamSpec("Arguments")


def closing_connection(page: Callable[Arguments, HttpResponse]) -> Callable[Arguments, HttpResponse]:
    """Close Django's connection after the page, unless a transaction is open in it."""

    @wraps(page)
    def closing(*args: Arguments.args, **named: Arguments.kwargs) -> HttpResponse:
        try:
            return page(*args, **named)
        finally:
            if not connection.in_atomic_block:
                connection.close()

    return closing


@closing_connection
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    if _is_staffs(request):
        return render(request, "ops/404.html", status=404)
    return defaults.page_not_found(request, exception)


@closing_connection
def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    if _is_staffs(request):
        if request.user.is_authenticated:
            asked = request.resolver_match.url_name if request.resolver_match else ""
            audit.record_refusal(request.user.get_username(), note=f"page {asked}")
        return render(request, "ops/403.html", status=403)
    return defaults.permission_denied(request, exception)


@closing_connection
def form_too_old(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403, where a form does not carry what its page was given."""
    if _is_staffs(request):
        return render(request, "ops/403_csrf.html", status=403)
    found: HttpResponse = csrf.csrf_failure(request, reason=reason)
    return found


def fault(request: HttpRequest, *_: Any) -> HttpResponse:
    """500. Asks the database nothing: it may be what is away."""
    if _is_staffs(request):
        return HttpResponse(render_to_string("ops/500.html"), status=500)
    return defaults.server_error(request)


def _is_staffs(request: HttpRequest) -> bool:
    return request.path.startswith(STAFF_PAGES)
