"""The cookies of machines: what names a machine, and what claims a pairing. Neither opens a visit."""

import hashlib
import secrets
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from companion.client_address import client_network
from companion.look_alikes import ALPHABET

_SALT = "companion.machines"
TOKEN_BYTES = 32
MACHINE_COOKIE_S = 365 * 86_400
PAIRING_S = 600
"""How long a pairing code is good."""
CODE_CHARS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineToken:
    """A machine's cookie with our signature. `hash` is the stored form of its secret."""

    machine: UUID
    hash: str


def make_token(machine: UUID) -> tuple[str, str]:
    """Return a new cookie value for a machine, and its stored form."""
    secret = secrets.token_hex(TOKEN_BYTES)
    return signing.Signer(salt=_SALT).sign(f"{machine.hex}.{secret}"), hash_secret(secret)


def parse_token(value: str | None) -> MachineToken | None:
    """Return what a cookie names; None without our signature, so that made-up values raise no alarm."""
    try:
        machine, _, secret = signing.Signer(salt=_SALT).unsign(value or "").partition(".")
        return MachineToken(machine=UUID(machine), hash=hash_secret(secret))
    except (signing.BadSignature, ValueError):
        return None


def hash_secret(secret: str) -> str:
    """Return the stored form of a secret: its SHA-256 in hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make_code() -> str:
    """Return a new pairing code."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))


def hash_code(letters: str) -> str:
    """Return the stored form of a pairing code. Keyed, because a code is short."""
    return salted_hmac("companion.machines.code", letters, algorithm="sha256").hexdigest()


def hash_network(address: str) -> str:
    """Return the stored form of the network of a client. Keyed, because addresses can be tried one by one."""
    network = client_network(address)
    return salted_hmac("companion.machines.network", network, algorithm="sha256").hexdigest()


def format_code(code: str) -> str:
    """A code as it is shown: two groups of capitals."""
    return f"{code[:4]}-{code[4:]}".upper()


def read_machine_token(request: HttpRequest) -> MachineToken | None:
    """Return what the cookie of this request names."""
    return parse_token(request.COOKIES.get(settings.MACHINE_COOKIE_NAME))


def set_machine_cookie(response: HttpResponse, value: str) -> None:
    """Give the browser a machine's cookie for a year."""
    _set(response, settings.MACHINE_COOKIE_NAME, value, max_age=MACHINE_COOKIE_S)


def read_claim(request: HttpRequest) -> str:
    """Return the secret of the browser that shows a pairing code; empty without one."""
    return request.COOKIES.get(settings.PAIRING_COOKIE_NAME, "")


def set_claim_cookie(response: HttpResponse, secret: str) -> None:
    """Give the browser the secret with which it claims the pairing."""
    _set(response, settings.PAIRING_COOKIE_NAME, secret, max_age=PAIRING_S)


def _set(response: HttpResponse, name: str, value: str, *, max_age: int) -> None:
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path="/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
