"""Refuses requests of pages of other origins, by the headers that the browser itself sets.

Django's CSRF cookie alone is not enough: a browser may lose it and keep the session cookie, and a visit must still
be able to end.
"""

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import get_callable
from django.views.decorators.csrf import csrf_exempt, csrf_protect

ViewFunction = Callable[..., HttpResponse]


def is_own_origin(origin: str, *, host: str, trusted: Collection[str], https_only: bool) -> bool:
    """Whether `origin` is one of the trusted origins, or that of the host itself. `host` must be known to be ours.

    `https_only`: the service is behind HTTPS, so a page served over HTTP under its name is not its own.
    """
    own = {f"https://{host}"} if https_only else {f"http://{host}", f"https://{host}"}
    return origin.lower() in {allowed.rstrip("/").lower() for allowed in own.union(trusted)}


def require_same_origin(view: ViewFunction) -> ViewFunction:
    """Make a view refuse pages of other origins. A request that names no origin needs a CSRF token."""
    protected = csrf_protect(view)

    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        match _is_same_origin(request):
            case True:
                return view(request, *args, **kwargs)
            case None:
                return protected(request, *args, **kwargs)
        refuse = get_callable(settings.CSRF_FAILURE_VIEW)
        refused: HttpResponse = refuse(request, reason="The request comes from a page of another origin.")
        return refused

    return guarded


def _is_same_origin(request: HttpRequest) -> bool | None:
    """None: the request has no header that tells its origin."""
    origin = request.headers.get("Origin", "")
    if origin and is_own_origin(
        origin,
        host=request.get_host(),
        trusted=settings.TRUSTED_ORIGINS,
        https_only=settings.SESSION_COOKIE_SECURE,
    ):
        return True
    # A page cannot set this header. It is present where a privacy setting makes the origin "null".
    if site := request.headers.get("Sec-Fetch-Site"):
        return site == "same-origin"
    return False if origin else None
