"""A dry run counts and changes nothing: the database itself refuses a change inside it."""

from argparse import _ActionsContainer
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

NOTHING_CHANGED = "Nothing was changed."


def add_dry_run_argument(part: _ActionsContainer) -> None:
    part.add_argument(
        "--dry-run", action="store_true", help="say and count what would happen, and change nothing"
    )


@contextmanager
def refuse_changes() -> Iterator[None]:
    """Run the block in one transaction that only reads. A change raises InternalError."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
        yield
