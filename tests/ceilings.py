"""The operators' ceiling in tests: set it, and delete its row afterwards, which the product cannot do."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from companion.models import Ceiling
from tests.people import in_database


@contextmanager
def set_ceiling(value: int) -> Iterator[None]:
    """Set the ceiling of every process to `value` inside the block."""
    in_database(lambda: Ceiling.objects.create(value=value, by="Ines", reason="a test"))
    try:
        yield
    finally:
        delete_ceilings()


def delete_ceilings() -> None:
    """Delete all ceilings with the triggers off: they refuse every DELETE."""
    in_database(_delete_ceilings)


@transaction.atomic
def _delete_ceilings() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM companion_ceiling")
