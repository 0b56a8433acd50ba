"""The operators' ceiling in tests: set it, and leave no trace of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from companion.models import Ceiling
from tests.people import in_database


@contextmanager
def ceiling_of(value: int) -> Iterator[None]:
    """So many may speak at once, in every process, while this lasts."""
    in_database(lambda: Ceiling.objects.create(value=value, by="Ines", reason="a test"))
    try:
        yield
    finally:
        forget_ceilings()


def forget_ceilings() -> None:
    """As if no operator had ever set one: without the triggers, which would refuse it."""
    in_database(_forget)


@transaction.atomic
def _forget() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM companion_ceiling")
