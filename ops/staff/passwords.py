"""Checks staff passwords, two at a time: each check takes a core for half a second, and pages need the cores too."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User

from ops.database import give_back_connection

CHECKS_AT_ONCE = 2
WAIT_LIMIT_S = 20.0

_slots = threading.BoundedSemaphore(CHECKS_AT_ONCE)


class TooBusy(Exception):
    """Too many checks are queued; this password was not checked."""


def check_staff_password(name: str, password: str) -> User | None:
    """The active user with this name and password, else None. Raises TooBusy.

    Holds no database connection while it waits and hashes, because the pool is small.
    """
    user = User.objects.filter(username=name).first()
    give_back_connection()
    with _slot():
        if user is None:
            # Hash all the same, so that the time taken does not reveal which names exist.
            User().set_password(password)
            return None
        fits = user.check_password(password)
    return user if fits and user.is_active else None


@contextmanager
def _slot() -> Iterator[None]:
    if not _slots.acquire(timeout=WAIT_LIMIT_S):
        raise TooBusy
    try:
        yield
    finally:
        _slots.release()
