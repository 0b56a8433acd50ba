"""The second step of signing in: a code of an app, or the app is set up first where that is asked for.

Nothing is stored between the steps: the form carries a signed note of whose password was right, for ten minutes. No
session exists before both steps are done, so no page or socket has to ask whether one is only half signed in.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.views import RedirectURLMixin
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views import View

from companion.client_address import read_client_address
from companion.throttle import WINDOW_S, SignInThrottle
from companion.visits.ends import EndReason
from companion.visits.leaving import end_visit
from ops import audit
from ops.access import get_access
from ops.people import second_factor
from ops.people.second_factor import CodeAnswer
from ops.staff import known_browsers

BACKEND = "django.contrib.auth.backends.ModelBackend"
STEP_AGE_S = 600
_SALT = "ops.staff.second_step"


class StaffRedirect(RedirectURLMixin):
    """Where staff go once they are signed in."""

    request: HttpRequest

    def get_default_redirect_url(self) -> str:
        """The first page: people for supervisors, the figures for operators."""
        access = get_access(self.request.user)
        return reverse("staff_dashboard" if access.is_operator else "staff_people")


def ask_for_code(request: HttpRequest, user: User, next_url: str) -> HttpResponse | None:
    """The page of the second step for a person whose password was right; None if there is none for them."""
    setup = second_factor.start_setup(user) if settings.COMPANION_SECOND_FACTOR else None
    if setup is None and not second_factor.has_second_factor(user):
        return None
    return _render(request, user, device=None if setup is None else setup.device, next_url=next_url)


def complete_sign_in(request: HttpRequest, user: User, *, backend: str = BACKEND, note: str = "") -> None:
    """Open the session. A participant's visit in the same browser ends, on every screen."""
    end_visit(request, reason=EndReason.REPLACED)
    audit.record(audit.SIGNED_IN, who=user.get_username(), note=note)
    login(request, user, backend=backend)


class SecondStep(StaffRedirect, View):
    """The target of the form with the code."""

    throttle: Callable[[], SignInThrottle] | None = None
    """Set by `as_view`."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return redirect("staff_sign_in")

    def post(self, request: HttpRequest) -> HttpResponse:
        next_url = self.get_redirect_url()
        found = _read_step(request.POST.get("step", ""))
        if found is None:
            return redirect("staff_sign_in")
        user, device = found
        typed = request.POST.get("code", "")
        answer = (
            self._check(user, typed) if device is None else second_factor.confirm_setup(user, device, typed)
        )
        if answer is CodeAnswer.NOT_SET_UP:
            return redirect("staff_sign_in")
        if answer is not CodeAnswer.RIGHT:
            return _render(request, user, device=device, next_url=next_url, answer=answer)
        complete_sign_in(request, user, note="with a code")
        response = redirect(next_url or self.get_default_redirect_url())
        known_browsers.remember(request, response, user.get_username())
        return response

    def _check(self, user: User, typed: str) -> CodeAnswer:
        """Check a code. A browser that knows this person waits for no delay where its own tries are counted."""
        assert self.throttle is not None
        name, address = user.get_username(), read_client_address(self.request)
        browser = known_browsers.count_apart(self.request, name)
        is_within = self.throttle().reserve_code(name, browser=browser) if browser else None
        if is_within is False:
            return CodeAnswer.TOO_MANY
        answer = second_factor.check_code(user, typed, waits=is_within is None)
        if is_within and answer is not CodeAnswer.WRONG:
            self.throttle().release(name, address, browser=browser)
        return answer


def _render(
    request: HttpRequest,
    user: User,
    *,
    device: int | None,
    next_url: str,
    answer: CodeAnswer | None = None,
) -> HttpResponse:
    wait_s = 0
    if answer is CodeAnswer.TOO_SOON:
        wait_s = second_factor.count_seconds_to_wait(user)
    elif answer is CodeAnswer.TOO_MANY:
        wait_s = WINDOW_S
    context: Mapping[str, Any] = {
        "step": signing.dumps([user.pk, device, _bind(user)], salt=_SALT),
        "setup": None if device is None else second_factor.get_setup(user, device),
        "next": next_url,
        "wrong": answer is CodeAnswer.WRONG,
        "wait_s": wait_s,
    }
    return render(request, "ops/second_step.html", context, status=429 if wait_s else 200)


def _read_step(step: str) -> tuple[User, int | None] | None:
    """Whose password was right, and the key they are to confirm. None if that was long ago, or holds no more."""
    try:
        number, device, bound = signing.loads(step, salt=_SALT, max_age=STEP_AGE_S)
    except (signing.BadSignature, TypeError, ValueError):
        return None
    user = User.objects.filter(pk=number, is_active=True, is_staff=True).first()
    if user is None or not constant_time_compare(bound, _bind(user)):
        return None
    return user, device


def _bind(user: User) -> str:
    """Changes with the password, so that a new one ends the step as it ends sessions."""
    return salted_hmac(_SALT, user.password).hexdigest()[:32]
