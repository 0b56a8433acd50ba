"""Pairing: a browser becomes a machine of a site by a short code, once. Uses Django's connection.

Either the browser shows the code and staff enter it, or a command prints it and it is typed in the browser. An answer
with the cookie may be lost, so it can be claimed again until the machine's page was seen.
"""

import logging
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from companion.look_alikes import list_readings, read_letters
from companion.machines.models import Machine, PairingCode
from companion.machines.offers import is_in_use
from companion.machines.registry import end_offers
from companion.machines.tokens import (
    CODE_CHARS,
    PAIRING_S,
    TOKEN_BYTES,
    hash_code,
    hash_network,
    hash_secret,
    make_code,
    make_token,
)

log = logging.getLogger(__name__)

MAX_SHOWN_CODES = 1_000
MAX_SHOWN_CODES_PER_NETWORK = 40
"""Codes on screens that wait for staff. One more replaces the oldest one: none is refused, and no network holds all."""
OPEN_S = 90
"""A machine that was seen within this time is open: its page reports at most once a minute."""
DELETED_AT_ONCE = 200
END_OF_CODE: Any = Now() + timedelta(seconds=PAIRING_S)


class PairingRefusal(StrEnum):
    """Why no machine was made."""

    NO_SUCH_CODE = "no_such_code"
    NAME_TAKEN = "name_taken"
    """A machine of the site that is open now has this name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownCode:
    """A code for the screen, and the secret with which its browser claims the pairing."""

    code: str
    claim: str


def show_code(claim: str, *, address: str) -> ShownCode:
    """Make a code for a browser at this address, in place of the one it had."""
    _delete_old()
    waiting = PairingCode.objects.filter(machine=None)
    if claim:
        waiting.filter(claim_hash=hash_secret(claim)).delete()
    network = hash_network(address)
    _keep_newest(waiting.filter(network_hash=network), MAX_SHOWN_CODES_PER_NETWORK - 1)
    _keep_newest(waiting, MAX_SHOWN_CODES - 1)
    secret, code = secrets.token_hex(TOKEN_BYTES), make_code()
    PairingCode.objects.create(
        code_hash=hash_code(code),
        claim_hash=hash_secret(secret),
        network_hash=network,
        expires_at=END_OF_CODE,
    )
    return ShownCode(code=code, claim=secret)


def shows_code(claim: str) -> bool:
    """Whether the code that this browser shows is still good."""
    shown = PairingCode.objects.filter(claim_hash=hash_secret(claim), expires_at__gt=Now())
    return bool(claim) and shown.exists()


@transaction.atomic
def pair(typed: str, *, site: int, name: str, by: str) -> Machine | PairingRefusal:
    """Staff have entered the code of a screen: its browser becomes this machine of the site.

    The name of a machine that is not open pairs that machine again: its old cookie is good no more.
    """
    code = _lock_code(typed, is_shown=True)
    if code is None or code.machine_id is not None:
        return PairingRefusal.NO_SUCH_CODE
    machine = _make_machine(site, name, by)
    if isinstance(machine, Machine):
        code.machine = machine
        code.save(update_fields=["machine"])
    return machine


@transaction.atomic
def print_code(*, site: int, name: str, by: str) -> tuple[Machine, str] | PairingRefusal:
    """Make a machine and a code that is typed in its browser."""
    _delete_old()
    machine = _make_machine(site, name, by)
    if isinstance(machine, PairingRefusal):
        return machine
    code = make_code()
    PairingCode.objects.create(code_hash=hash_code(code), machine=machine, expires_at=END_OF_CODE)
    return machine, code


@transaction.atomic
def claim_pairing(claim: str) -> str | None:
    """Return the machine's cookie for the browser that shows a code; None until staff have entered it."""
    if not claim:
        return None
    codes = _live_codes().filter(claim_hash=hash_secret(claim), machine__isnull=False)
    return _give_cookie(codes.first())


@transaction.atomic
def claim_by_code(typed: str) -> str | None:
    """Return the machine's cookie for a browser in which a printed code was typed; None if there is no such code."""
    return _give_cookie(_lock_code(typed, is_shown=False))


def _give_cookie(code: PairingCode | None) -> str | None:
    if code is None or code.machine_id is None:
        return None
    machine = Machine.objects.select_for_update(no_key=True).filter(
        pk=code.machine_id, withdrawn_at=None, seen_at=None, copied_at=None
    )
    value, stored = make_token(code.machine_id)
    # Not seen yet: once its page was open the machine has its cookie, and the code is spent.
    if not machine.update(token_hash=stored, former_hash="", rotated_at=Now()):
        return None
    log.info("machine.paired machine=%s", code.machine_id)
    return value


def _make_machine(site: int, name: str, by: str) -> Machine | PairingRefusal:
    there = Machine.objects.select_for_update(no_key=True).filter(
        site=site, name__iexact=name, withdrawn_at=None
    )
    if machine := there.first():
        # Its cookies may have been cleared. While its page is open it is not given away.
        lately = Now() - timedelta(seconds=OPEN_S)
        if there.filter(copied_at=None, seen_at__gt=lately).exists() or is_in_use(machine.pk):
            return PairingRefusal.NAME_TAKEN
        PairingCode.objects.filter(machine=machine).delete()
        there.update(
            name=name,
            token_hash="",
            former_hash="",
            copied_at=None,
            seen_at=None,
            paired_at=Now(),
            paired_by=by[:150],
        )
        # What was asked on the browser before is not asked on this one: it may stand elsewhere.
        end_offers(machine.pk)
        return machine
    try:
        with transaction.atomic():
            return Machine.objects.create(site_id=site, name=name, paired_by=by[:150])
    except IntegrityError:
        return PairingRefusal.NAME_TAKEN


def _lock_code(typed: str, *, is_shown: bool) -> PairingCode | None:
    letters = read_letters(typed)
    if len(letters) != CODE_CHARS:
        return None
    hashes = [hash_code(reading) for reading in list_readings(letters)]
    found = _live_codes().filter(code_hash__in=hashes)
    found = found.exclude(claim_hash="") if is_shown else found.filter(claim_hash="")
    return found.first()


def _live_codes() -> QuerySet[PairingCode]:
    # A clock that was set back makes no old code good: it was made in what is then the future.
    live = PairingCode.objects.filter(made_at__lte=Now(), expires_at__gt=Now())
    return live.select_for_update(no_key=True).order_by("id")


def _keep_newest(waiting: QuerySet[PairingCode], most: int) -> None:
    # As many as may wait at once, so few.
    replaced = list(waiting.order_by("-id").values_list("pk", flat=True)[most:])
    if replaced:
        log.warning("pairing.codes_replaced codes=%d", len(replaced))
        PairingCode.objects.filter(pk__in=replaced, machine=None).delete()


def _delete_old() -> None:
    old = PairingCode.objects.filter(expires_at__lte=Now()).order_by("expires_at")[:DELETED_AT_ONCE]
    PairingCode.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()
