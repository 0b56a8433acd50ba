"""Who among the staff may see whose turns. Asked anew with every request, so that withdrawing it works at once."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.cache import cache_control

from companion.models import Site

OPERATORS = "operators"
"""The group whose members see the people of all sites. Superusers do too."""

View = Callable[..., HttpResponseBase]
unkept = cache_control(private=True, no_store=True)


def staff_only(view: View) -> View:
    """For staff who are signed in. Everybody else is asked to sign in; no browser keeps the page."""

    @wraps(view)
    @unkept
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
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
