"""Signing in through the programme's own identity provider (OpenID Connect), beside or instead of passwords."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views import View
from mozilla_django_oidc.views import OIDCAuthenticationRequestView

from companion.client_address import read_client_address
from companion.throttle import SignInThrottle
from ops.staff import known_browsers
from ops.staff.provider import ProviderFailed, authenticate, build_callback_url, discover
from ops.staff.second_step import StaffRedirect, complete_sign_in

log = logging.getLogger(__name__)

ANSWER_AGE_S = 600
"""How long a person has at the provider."""
_STATES, _NEXT = "oidc_states", "oidc_login_next"


class AskProvider(OIDCAuthenticationRequestView):
    """Leads to the provider. What is sent along is kept in the session and is good for one answer."""

    throttle: Callable[[], SignInThrottle] | None = None
    """Set by `as_view`."""

    def __init__(self, **kwargs: Any) -> None:
        # The library's own reads settings; ours are read when the provider is asked.
        View.__init__(self, **kwargs)
        self.OIDC_RP_CLIENT_ID = settings.STAFF_OIDC_CLIENT_ID

    def get(self, request: HttpRequest) -> HttpResponseBase:
        assert self.throttle is not None
        # Each asking stores a session.
        if not self.throttle().count_asked_provider(read_client_address(request)):
            return _refuse(
                request,
                gettext("Too many people sign in from here at this moment. Try again in ten minutes."),
            )
        try:
            self.OIDC_OP_AUTH_ENDPOINT = discover()["authorization_endpoint"]
        except ProviderFailed as failure:
            return _report(request, failure)
        answer: HttpResponseBase = super().get(request)
        return answer

    def get_extra_params(self, request: HttpRequest) -> dict[str, str]:
        return {"redirect_uri": build_callback_url(request)}


class ProviderAnswers(StaffRedirect, View):
    """Where the provider sends the browser back to."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        # Taken out first: an answer is good once, also where it is refused.
        states = request.session.get(_STATES) or {}
        asked = states.pop(request.GET.get("state", ""), None)
        next_url = request.session.get(_NEXT) or ""
        request.session.modified = True
        if asked is None or time.time() - asked["added_on"] > ANSWER_AGE_S:
            return _refuse(
                request, gettext("That sign-in was begun too long ago, or elsewhere. Begin it again.")
            )
        request.session.save()
        if "error" in request.GET or "code" not in request.GET:
            return _refuse(request, gettext("You were not signed in there. Try again, or ask an operator."))
        try:
            user = authenticate(request, nonce=asked["nonce"], code_verifier=asked["code_verifier"])
        except ProviderFailed as failure:
            return _report(request, failure)
        if user is None:
            log.warning("staff.provider_without_account")
            return _refuse(
                request,
                gettext("You were signed in there, but no account here is yours. An operator adds it."),
            )
        complete_sign_in(request, user, note="by the provider")
        response = HttpResponseRedirect(next_url or self.get_default_redirect_url())
        known_browsers.remember(request, response, user.get_username())
        return response


def _report(request: HttpRequest, failure: ProviderFailed) -> HttpResponse:
    log.error("staff.provider_failed code=%s", failure.code)
    return _refuse(
        request,
        gettext("Your organisation's sign-in does not answer as it should. Try again, or ask an operator."),
    )


def _refuse(request: HttpRequest, sentence: str) -> HttpResponse:
    messages.warning(request, sentence)
    return redirect("staff_sign_in")
