"""Checks passwords of staff, two at a time: each takes a core for half a second, and pages need the cores too."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.db import connection

CHECKS_AT_ONCE = 2
WAIT_LIMIT_S = 20.0

_places = threading.BoundedSemaphore(CHECKS_AT_ONCE)


class TooBusy(Exception):
    """So many passwords are waiting that this one was not checked."""


def user_with_password(name: str, password: str) -> User | None:
    """The active user of this name, if the password is theirs. Raises TooBusy.

    Holds no database connection while it waits and hashes: those of the pool are few, and pages wait for them.
    """
    user = User.objects.filter(username=name).first()
    if not connection.in_atomic_block:
        connection.close()
    with _place():
        if user is None:
            # As long as for a name that exists, so that the time does not tell which do.
            User().set_password(password)
            return None
        fits = user.check_password(password)
    return user if fits and user.is_active else None


@contextmanager
def _place() -> Iterator[None]:
    if not _places.acquire(timeout=WAIT_LIMIT_S):
        raise TooBusy
    try:
        yield
    finally:
        _places.release()
