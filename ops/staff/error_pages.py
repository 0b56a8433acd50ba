"""The error pages of staff, under /ops/ and /staff/; other addresses get the participants' pages.

Django renders an error page in another thread than the request's, with another database connection, and closes none
there. So what a view raises is answered by a middleware, in the request's own thread: a request that holds one
connection and waits for a second would, with enough others, empty the pool. An address that leads to no view is
answered in Django's thread, before the request has a connection; the page closes its own at its end.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import csrf, defaults

from ops import audit
from ops.database import give_back_connection

STAFF_PAGES = ("/ops/", "/staff/")

Arguments = ParamSpec("Arguments")


class ErrorPagesMiddleware:
    """Answers Http404 and PermissionDenied of a view in the thread of its request. The last in the list."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The page for the exception; None leaves every other one to Django."""
        if isinstance(exception, Http404):
            return page_not_found(request, exception)
        if isinstance(exception, PermissionDenied):
            return permission_denied(request, exception)
        return None


def closing_connection(page: Callable[Arguments, HttpResponse]) -> Callable[Arguments, HttpResponse]:
    """Close Django's connection after the page, unless a transaction is open in it."""

    @wraps(page)
    def closing(*args: Arguments.args, **named: Arguments.kwargs) -> HttpResponse:
        try:
            return page(*args, **named)
        finally:
            give_back_connection()

    return closing


@closing_connection
def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_staff_page(request):
        return render(request, "ops/404.html", status=404)
    return defaults.page_not_found(request, exception)


@closing_connection
def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
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
