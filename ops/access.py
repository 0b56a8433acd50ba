"""Who among the staff may see whose turns. Asked anew with every request, so that withdrawing it works at once."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import cache_control

from companion.models import Site

OPERATORS = "operators"
"""The group whose members see the people of all sites. Superusers do too."""

NOTHING_DONE = "You had been signed out, so nothing was changed. Sign in, look again, and do it once more."

View = Callable[..., HttpResponseBase]
unkept = cache_control(private=True, no_store=True)


def staff_only(view: View) -> View:
    """For staff who are signed in. Everybody else is asked to sign in; no browser keeps the page."""

    @wraps(view)
    @unkept
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        if not request.user.is_staff:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


def operators_only(view: View) -> View:
    """For operators. Other staff may look, and are told that they may not do this."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not is_operator(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return staff_only(guarded)


def by_form_of(page: str) -> Callable[[View], View]:
    """For what a form on the page called `page` sends here. Whoever comes by a link is shown that page instead."""

    def decorated(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method in ("GET", "HEAD"):
                return redirect(page)
            if request.method != "POST":
                return HttpResponseNotAllowed(["GET", "POST"])
            return view(request, *args, **kwargs)

        return guarded

    return decorated


def _to_sign_in(request: HttpRequest) -> HttpResponseBase:
    if request.method in ("GET", "HEAD"):
        return redirect_to_login(request.get_full_path())
    # What was sent is gone with the session: it may be another person who signs in now.
    messages.warning(request, NOTHING_DONE)
    came_from = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()})
    path = urlsplit(came_from).path if ours else ""
    return redirect_to_login(path if path.startswith("/ops/") else request.path)


def is_operator(user: User | AbstractBaseUser | AnonymousUser) -> bool:
    """Whether this member of staff may move traffic and see the people of all sites."""
    if not isinstance(user, User) or not (user.is_active and user.is_staff):
        return False
    return user.is_superuser or user.groups.filter(name=OPERATORS).exists()


def sites_of(user: User | AbstractBaseUser | AnonymousUser) -> list[int]:
    """The ids of the sites whose people this member of staff may see now."""
    if not isinstance(user, User) or not (user.is_active and user.is_staff):
        return []
    if is_operator(user):
        return list(Site.objects.values_list("id", flat=True))
    return list(Site.objects.filter(supervisions__user=user).values_list("id", flat=True))
