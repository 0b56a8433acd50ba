"""Who may act for a participant: a page of our own, by what the browser itself says of where a request comes from.

A CSRF cookie can be lost while the visit's own cookie is there, and a visit must be able to end all the same.
"""

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import get_callable
from django.views.decorators.csrf import csrf_exempt, csrf_protect

View = Callable[..., HttpResponse]


def is_own_origin(origin: str, *, host: str, trusted: Collection[str], https_only: bool) -> bool:
    """Whether `origin` is one of the trusted origins, or that of the host itself. `host` must be known to be ours.

    `https_only` where the service is behind HTTPS: what is served over HTTP under its name is another's page.
    """
    own = {f"https://{host}"} if https_only else {f"http://{host}", f"https://{host}"}
    return origin.lower() in {one.rstrip("/").lower() for one in own.union(trusted)}


def require_same_origin(view: View) -> View:
    """Refuse what a page of another origin sends. A caller that says nothing of its origin needs the CSRF cookie."""
    protected = csrf_protect(view)

    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        match _comes_from_us(request):
            case True:
                return view(request, *args, **kwargs)
            case None:
                return protected(request, *args, **kwargs)
        refuse = get_callable(settings.CSRF_FAILURE_VIEW)
        refused: HttpResponse = refuse(request, reason="The request comes from a page of another origin.")
        return refused

    return guarded


def _comes_from_us(request: HttpRequest) -> bool | None:
    """None: the request does not say."""
    origin = request.headers.get("Origin", "")
    if origin and is_own_origin(
        origin,
        host=request.get_host(),
        trusted=settings.TRUSTED_ORIGINS,
        https_only=settings.SESSION_COOKIE_SECURE,
    ):
        return True
    # A page cannot set this header. It is right where a privacy setting makes the origin "null".
    if site := request.headers.get("Sec-Fetch-Site"):
        return site == "same-origin"
    return False if origin else None
