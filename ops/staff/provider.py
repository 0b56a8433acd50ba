"""An OpenID Connect provider, as mozilla-django-oidc speaks to it, with the checks that the library leaves out.

The provider's endpoints are read from its discovery document. Raises ProviderFailed for all that is wrong with what a
provider says, or that it does not answer. Only loaded where STAFF_OIDC_ISSUER is set.
"""

import threading
import time
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.urls import reverse
from mozilla_django_oidc.auth import OIDCAuthenticationBackend

from ops.database import give_back_connection
from ops.people.staff_identities import find_by_identity
from routing.web_addresses import is_private_way

DISCOVERY_AGE_S = 3_600.0
ALGORITHMS = ("RS256", "ES256")
"""Signatures that are accepted, the first that the provider offers. Never one made with our own secret, or none."""
NEEDED = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")

_discovery: tuple[float, dict[str, Any]] | None = None
_lock = threading.Lock()


class ProviderFailed(Exception):
    """The identity provider does not answer, or what it says cannot be believed. `code` is for the log."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def discover() -> dict[str, Any]:
    """The provider's discovery document, at most an hour old."""
    global _discovery
    issuer = settings.STAFF_OIDC_ISSUER
    with _lock:
        if (
            _discovery is not None
            and _discovery[1]["issuer"] == issuer
            and time.monotonic() - _discovery[0] < DISCOVERY_AGE_S
        ):
            return _discovery[1]
    try:
        answer = requests.get(
            f"{issuer.rstrip('/')}/.well-known/openid-configuration", timeout=settings.OIDC_TIMEOUT
        )
        answer.raise_for_status()
        document = answer.json()
    except (requests.RequestException, ValueError) as failure:
        raise ProviderFailed(type(failure).__name__) from None
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ProviderFailed("other_issuer")
    if not all(isinstance(document.get(name), str) for name in NEEDED):
        raise ProviderFailed("endpoint_missing")
    if not all(is_private_way(document[name]) for name in NEEDED):
        raise ProviderFailed("endpoint_not_https")
    with _lock:
        _discovery = (time.monotonic(), document)
    return document


def build_callback_url(request: HttpRequest) -> str:
    """Where the provider sends the browser back to; it has to be known there."""
    path = reverse("staff_provider_callback")
    # Behind a proxy a request may not tell that its browser speaks HTTPS.
    return (
        f"{settings.TRUSTED_ORIGINS[0]}{path}"
        if settings.TRUSTED_ORIGINS
        else request.build_absolute_uri(path)
    )


def authenticate(request: HttpRequest, *, nonce: str, code_verifier: str) -> User | None:
    """The member of staff whom the provider has signed in; None if no account here is theirs."""
    give_back_connection()
    try:
        found = ProviderBackend().authenticate(request, nonce=nonce, code_verifier=code_verifier)
    except (SuspiciousOperation, requests.RequestException, jwt.PyJWTError) as failure:
        raise ProviderFailed(type(failure).__name__) from None
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        # An answer of another shape than the protocol has.
        raise ProviderFailed(f"shape_{type(failure).__name__}") from None
    assert found is None or isinstance(found, User)
    return found


class ProviderBackend(OIDCAuthenticationBackend):
    """Exchanges a code for an identity. Creates no account, and reads no right from the provider."""

    def __init__(self) -> None:
        document = discover()
        offered = document.get("id_token_signing_alg_values_supported", ["RS256"])
        self._issuer = settings.STAFF_OIDC_ISSUER
        self.UserModel = User
        self.OIDC_OP_TOKEN_ENDPOINT = document["token_endpoint"]
        self.OIDC_OP_USER_ENDPOINT = document["userinfo_endpoint"]
        self.OIDC_OP_JWKS_ENDPOINT = document["jwks_uri"]
        self.OIDC_RP_CLIENT_ID = settings.STAFF_OIDC_CLIENT_ID
        self.OIDC_RP_CLIENT_SECRET = settings.STAFF_OIDC_CLIENT_SECRET
        self.OIDC_RP_IDP_SIGN_KEY = None
        self.OIDC_RP_SIGN_ALGO = next((name for name in ALGORITHMS if name in offered), ALGORITHMS[0])

    def get_token(self, payload: dict[str, Any]) -> dict[str, Any]:
        payload["redirect_uri"] = build_callback_url(self.request)
        answer: dict[str, Any] = super().get_token(payload)
        return answer

    def verify_token(self, token: str, **expected: Any) -> dict[str, Any]:
        """The claims of a token. The library checks signature, nonce and end; issuer and audience are checked here."""
        claims: dict[str, Any] = super().verify_token(token, **expected)
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        faults = {
            "other_issuer": claims.get("iss") != self._issuer,
            "other_audience": self.OIDC_RP_CLIENT_ID not in audiences,
            "other_party": len(audiences) > 1 and claims.get("azp") != self.OIDC_RP_CLIENT_ID,
            "no_end": "exp" not in claims,
            "no_subject": not isinstance(claims.get("sub"), str) or not claims["sub"],
        }
        for code, is_there in faults.items():
            if is_there:
                raise ProviderFailed(code)
        return claims

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> User | None:
        known = self.get_userinfo(access_token, id_token, payload)
        if known.get("sub") != payload["sub"]:
            raise ProviderFailed("other_subject")
        name = known.get(settings.STAFF_OIDC_CLAIM)
        # Elsewhere people name any address as theirs.
        if settings.STAFF_OIDC_CLAIM == "email" and known.get("email_verified") is not True:
            name = None
        return find_by_identity(
            issuer=self._issuer, subject=payload["sub"], name=name if isinstance(name, str) else ""
        )
