"""Deletes in transactions of a bounded number of rows, so that a run may be killed at any moment."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from ops.database import execute
from ops.personal_data.holds import lock_unless_held

ROWS_AT_ONCE = 500


def delete_in_batches(statement: str, facts: Mapping[str, Any], *, unless_held: int | None = None) -> int:
    """Run a statement that changes up to `at_most` rows until it finds none; returns how many it changed.

    `unless_held` is a participant: no batch begins once they are under a safeguarding hold.
    """
    changed = 0
    while batch := _run_once(statement, {**facts, "at_most": ROWS_AT_ONCE}, unless_held):
        changed += batch
    return changed


@transaction.atomic
def _run_once(statement: str, facts: dict[str, Any], unless_held: int | None) -> int:
    if unless_held is not None and not lock_unless_held(unless_held):
        return 0
    return execute(statement, facts)
