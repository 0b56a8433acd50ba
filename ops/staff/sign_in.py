"""Where staff sign in and how many tries they have.

A sync view, like every page: a password takes long to check, and must not hold up a reply.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from companion.client_address import read_client_address
from companion.throttle import WINDOW_S, SignInThrottle
from ops.staff import known_browsers
from ops.staff.passwords import TooBusy, check_staff_password
from ops.staff.second_step import StaffRedirect, ask_for_code, complete_sign_in

MAX_NAME_CHARS = 150
RETRY_AFTER_S = {429: WINDOW_S, 503: 30}


class StaffForm(AuthenticationForm):
    """A name and a password of a member of staff."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if name is not None and password:
            self.user_cache = check_staff_password(name, password)
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return self.cleaned_data

    def confirm_login_allowed(self, user: User) -> None:
        super().confirm_login_allowed(user)
        if not user.is_staff:
            # The same answer as for a wrong password does not reveal which names exist.
            raise self.get_invalid_login_error()


class SignIn(StaffRedirect, LoginView):
    """The staff's sign-in. It ends a participant's visit in the same browser, on every screen."""

    template_name = "ops/sign_in.html"
    authentication_form = StaffForm
    redirect_authenticated_user = True
    throttle: Callable[[], SignInThrottle] | None = None
    """Set by `as_view`."""

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        return super().get_context_data(has_provider=bool(settings.STAFF_OIDC_ISSUER), **context)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        browser = known_browsers.count_apart(request, self._name)
        if not self._get_throttle().reserve(self._name, self._address, browser=browser):
            return self._refuse(429, too_many_tries=True)
        try:
            return super().post(request, *args, **kwargs)
        except TooBusy:
            self._get_throttle().release(self._name, self._address, browser=browser)
            return self._refuse(503, too_busy=True)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        browser = known_browsers.count_apart(self.request, self._name)
        self._get_throttle().release(self._name, self._address, browser=browser)
        if page := ask_for_code(self.request, user, self.get_redirect_url()):
            return page
        complete_sign_in(self.request, user)
        response = HttpResponseRedirect(self.get_success_url())
        known_browsers.remember(self.request, response, user.get_username())
        return response

    def _refuse(self, status: int, **why: bool) -> HttpResponse:
        response = self.render_to_response(self.get_context_data(form=None, **why), status=status)
        response["Retry-After"] = str(RETRY_AFTER_S[status])
        return response

    def _get_throttle(self) -> SignInThrottle:
        assert self.throttle is not None
        return self.throttle()

    @property
    def _name(self) -> str:
        return self.request.POST.get("username", "")[:MAX_NAME_CHARS]

    @property
    def _address(self) -> str:
        return read_client_address(self.request)
