"""The second factor of staff who sign in with a password: codes of an app (TOTP), one app for each account.

Wrong codes delay the next try, from one second on and doubling, in the database. A browser in which this person has
signed in before does not wait for the wrong codes of others (see `ops.staff.known_browsers`) while its own are counted
with wrong passwords, in Valkey.
"""

import re
from base64 import b32encode
from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from ops import audit
from ops.people.card_sheets import draw_qr

_CODE = re.compile(r"[0-9]{6}", re.ASCII)
_NAME = "app"


class CodeAnswer(StrEnum):
    """What became of a code."""

    RIGHT = "right"
    WRONG = "wrong"
    TOO_SOON = "too_soon"
    TOO_MANY = "too_many"
    """Wrong ones in a browser in which this person has signed in; it was not checked."""
    NOT_SET_UP = "not_set_up"


@dataclass(frozen=True, kw_only=True, slots=True)
class AppSetup:
    """What an app is given: as a QR code (the path of an SVG, and its side) and as letters to type."""

    device: int
    path: str
    size: int
    letters: str


def has_second_factor(user: User) -> bool:
    """Whether this person signs in with a code as well."""
    found: bool = TOTPDevice.objects.filter(user=user, confirmed=True).exists()
    return found


@transaction.atomic
def start_setup(user: User) -> AppSetup | None:
    """A new key for an app, which counts once a code of the app has confirmed it. None: there is an app already."""
    _lock(user)
    if has_second_factor(user):
        return None
    # Always a new key: one that was shown before may have been read by another person.
    TOTPDevice.objects.filter(user=user).delete()
    return _describe(TOTPDevice.objects.create(user=user, name=_NAME, confirmed=False))


def get_setup(user: User, device: int) -> AppSetup | None:
    """The key that was shown and is not confirmed yet."""
    found = TOTPDevice.objects.filter(user=user, pk=device, confirmed=False).first()
    return None if found is None else _describe(found)


@transaction.atomic
def confirm_setup(user: User, device: int, typed: str) -> CodeAnswer:
    """Take the key into use if this code of the app is right."""
    # A confirmed app is the only one: `start_setup` makes no key beside it, and deletes the keys before.
    _lock(user)
    found = TOTPDevice.objects.filter(user=user, pk=device, confirmed=False).first()
    if found is None:
        return CodeAnswer.NOT_SET_UP
    # The person who confirms has just been shown the key, so there is nothing to guess.
    found.throttling_enabled = False
    if not found.verify_token(_clean(typed)):
        return CodeAnswer.WRONG
    found.confirmed = True
    found.save(update_fields=["confirmed"])
    audit.record(audit.SET_SECOND_FACTOR, who=user.get_username(), note=f"staff {user.pk}")
    return CodeAnswer.RIGHT


@transaction.atomic
def check_code(user: User, typed: str, *, waits: bool) -> CodeAnswer:
    """Check a code. Each is right once. `waits`: not before the delay after wrong ones is over."""
    device = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=True).first()
    if device is None:
        return CodeAnswer.NOT_SET_UP
    # A wrong code lengthens the delay in either case.
    device.throttling_enabled = waits
    if not device.verify_is_allowed()[0]:
        return CodeAnswer.TOO_SOON
    return CodeAnswer.RIGHT if device.verify_token(_clean(typed)) else CodeAnswer.WRONG


def count_seconds_to_wait(user: User) -> int:
    """Seconds until a browser that is not known may try a code again, at least one."""
    device = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    refusal = None if device is None else device.verify_is_allowed()[1]
    return 1 if refusal is None else max(1, round((refusal["locked_until"] - timezone.now()).total_seconds()))


def remove_second_factor(user: User) -> bool:
    """Forget the app of this account. Returns whether there was one. The caller records it."""
    gone, _ = TOTPDevice.objects.filter(user=user).delete()
    return bool(gone)


def _lock(user: User) -> None:
    """Let one request at a time change the app of this account."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)


def _describe(device: TOTPDevice) -> AppSetup:
    path, size = draw_qr(device.config_url)
    letters = b32encode(device.bin_key).decode()
    grouped = " ".join(letters[start : start + 4] for start in range(0, len(letters), 4))
    return AppSetup(device=device.pk, path=path, size=size, letters=grouped)


def _clean(typed: str) -> str:
    """The digits of a code; a text that is no code is none."""
    digits = "".join(typed.split())
    return digits if _CODE.fullmatch(digits) else ""
