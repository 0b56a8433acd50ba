"""A member of staff's own account: another password, by Django's rules, and the app for the second step."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from companion.client_address import read_client_address
from companion.ids import parse_id
from companion.throttle import SignInThrottle
from ops import audit
from ops.access import form_on, staff_only
from ops.people import second_factor
from ops.people.second_factor import AppSetup, CodeAnswer
from ops.staff.passwords import TooBusy, check_staff_password

_DEVICE = "second_factor_setup"


class OwnPasswordForm(PasswordChangeForm):
    """The present password, and another that Django's rules allow, twice."""

    def clean_old_password(self) -> str:
        typed: str = self.cleaned_data["old_password"]
        if check_staff_password(self.user.get_username(), typed) is None:
            raise ValidationError(gettext("The present password is not right."))
        return typed


@require_safe
@staff_only
def account(request: HttpRequest) -> HttpResponse:
    """What this person signs in with."""
    return _render(request)


@form_on("staff_account")
@require_http_methods(["POST"])
@sensitive_post_parameters()
@staff_only
def change_password(request: HttpRequest, throttle: Callable[[], SignInThrottle]) -> HttpResponse:
    """Set another password. Other sessions of this person end; this one goes on."""
    user = _get_user(request)
    name, address = user.get_username(), read_client_address(request)
    own = f"account-{user.pk}"
    if not throttle().reserve(name, address, browser=own):
        return _render(request, status=429, too_many_tries=True)
    form = OwnPasswordForm(user, request.POST)
    try:
        if not form.is_valid():
            return _render(request, form=form)
    except TooBusy:
        throttle().release(name, address, browser=own)
        return _render(request, status=503, too_busy=True)
    throttle().release(name, address, browser=own)
    form.save()
    update_session_auth_hash(request, form.user)
    audit.record(audit.NEW_PASSWORD, who=name, note=f"staff {user.pk}, by themselves")
    messages.success(request, gettext("Your password is changed. Your other sessions have ended."))
    return redirect("staff_account")


@form_on("staff_account")
@require_http_methods(["POST"])
@staff_only
def set_up_second_factor(request: HttpRequest) -> HttpResponse:
    """Show a key for an app; with a code of that app, take it into use."""
    user = _get_user(request)
    if not user.has_usable_password():
        return redirect("staff_account")
    device = parse_id(request.POST.get("device", ""))
    if device is None or request.session.get(_DEVICE) != device:
        setup = second_factor.start_setup(user)
        # An app is not replaced from an open page: a person who passes by would lock its owner out.
        if setup is None:
            return redirect("staff_account")
        request.session[_DEVICE] = setup.device
        return _render(request, setup=setup)
    answer = second_factor.confirm_setup(user, device, request.POST.get("code", ""))
    if answer is CodeAnswer.WRONG:
        return _render(request, setup=second_factor.get_setup(user, device), wrong=True)
    if answer is CodeAnswer.RIGHT:
        messages.success(request, gettext("From now on you sign in with a code of your app as well."))
    del request.session[_DEVICE]
    return redirect("staff_account")


@form_on("staff_account")
@require_http_methods(["POST"])
@staff_only
def turn_off_second_factor(request: HttpRequest) -> HttpResponse:
    """Sign in without codes again, if a code shows that it is the same person and the programme allows it."""
    user = _get_user(request)
    if settings.COMPANION_SECOND_FACTOR:
        return redirect("staff_account")
    # Also in a known browser: a person at another's open page must not try codes as they like.
    answer = second_factor.check_code(user, request.POST.get("code", ""), waits=True)
    if answer is CodeAnswer.TOO_SOON:
        return _render(request, status=429, wait_s=second_factor.count_seconds_to_wait(user))
    if answer is CodeAnswer.WRONG:
        return _render(request, off_wrong=True)
    if second_factor.remove_second_factor(user):
        audit.record(
            audit.REMOVED_SECOND_FACTOR, who=user.get_username(), note=f"staff {user.pk}, by themselves"
        )
        messages.success(request, gettext("You sign in without a code again."))
    return redirect("staff_account")


def _render(
    request: HttpRequest, *, status: int = 200, setup: AppSetup | None = None, **more: Any
) -> HttpResponse:
    user = _get_user(request)
    context = {
        "has_password": user.has_usable_password(),
        "has_second_factor": second_factor.has_second_factor(user),
        "is_required": settings.COMPANION_SECOND_FACTOR,
        "setup": setup,
        "here": "account",
        **more,
    }
    return render(request, "ops/account.html", context, status=status)


def _get_user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return User.objects.get(pk=request.user.pk)
