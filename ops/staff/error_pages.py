"""The error pages of staff, under /ops/ and /staff/; other addresses get the participants' pages.

Django renders error pages in another thread than the request's and closes no connection there. Each page closes its
own, or every such thread would keep one of the pool for ever, even after it has died.
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
def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    if _is_staff_page(request):
        return render(request, "ops/404.html", status=404)
    return defaults.page_not_found(request, exception)


@closing_connection
def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    if _is_staff_page(request):
        if request.user.is_authenticated:
            page = request.resolver_match.url_name if request.resolver_match else ""
            audit.record_refusal(request.user.get_username(), note=f"page {page}")
        return render(request, "ops/403.html", status=403)
    return defaults.permission_denied(request, exception)


@closing_connection
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403, for a form with a missing or outdated CSRF token."""
    if _is_staff_page(request):
        return render(request, "ops/403_csrf.html", status=403)
    response: HttpResponse = csrf.csrf_failure(request, reason=reason)
    return response


def server_error(request: HttpRequest, *_: Any) -> HttpResponse:
    """500. Uses no database, because it may be the cause."""
    if _is_staff_page(request):
        return HttpResponse(render_to_string("ops/500.html"), status=500)
    return defaults.server_error(request)


def _is_staff_page(request: HttpRequest) -> bool:
    return request.path.startswith(STAFF_PAGES)
