"""Adds the people of a CSV file: all of them in one transaction, or none. Nothing that exists is changed by a file.

A line is answered with what it did, or why it stops the import. A dry run does everything and takes it back.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction

from ops.changes import ChangeRefused
from ops.people.people_file import PersonLine
from ops.people.people_plan import ImportPlan, LineOutcome, LineReport
from ops.people.people_store import store_plan
from ops.people.staff import generate_password


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """The answer to a file."""

    lines: Sequence[LineReport]
    is_stored: bool

    def count(self, outcome: LineOutcome) -> int:
        """How many lines ended so."""
        return sum(line.outcome is outcome for line in self.lines)


def import_people(
    people: Sequence[PersonLine],
    *,
    by: str,
    is_dry_run: bool = False,
    keep_passwords: Callable[[Mapping[str, str]], None] | None = None,
) -> ImportReport:
    """Add those of these people who are not there. Stores nothing if one line is refused, or in a dry run.

    `keep_passwords` takes those of new staff, by username, before anything is stored, so that none is lost; if it
    raises, nothing is. Without it new staff have none: they come by the identity provider, or are given one later.
    Raises ChangeRefused where another command adds the same people at this moment.
    """
    passwords: dict[str, str] = {}
    hashes: dict[str, str] = {}
    if keep_passwords is not None:
        # Hashed outside the transaction: each takes half a second, and the transaction locks sites.
        report, usernames = _import(people, by=by, is_dry_run=True)
        if report.count(LineOutcome.REFUSED):
            return report
        passwords = {name: generate_password() for name in usernames}
        hashes = _hash(passwords)
    try:
        with transaction.atomic():
            report, usernames = _import(people, by=by, is_dry_run=is_dry_run, hashes=hashes)
            if keep_passwords is not None and report.is_stored:
                keep_passwords({name: passwords[name] for name in usernames})
    except (IntegrityError, KeyError):
        raise ChangeRefused(
            "Another command changes some of these people at this moment. Try again."
        ) from None
    return report


@transaction.atomic
def _import(
    people: Sequence[PersonLine], *, by: str, is_dry_run: bool, hashes: Mapping[str, str] | None = None
) -> tuple[ImportReport, Sequence[str]]:
    """The answer to a file, and the usernames that are new."""
    plan = ImportPlan(people)
    lines = list(plan.check())
    is_sound = all(line.outcome is not LineOutcome.REFUSED for line in lines)
    if is_sound:
        store_plan(plan, by=by, hashes=hashes or {})
    if is_dry_run or not is_sound:
        transaction.set_rollback(True)
    usernames = [one.user.username for one in plan.staff]
    return ImportReport(lines=lines, is_stored=is_sound and not is_dry_run), usernames


def _hash(passwords: Mapping[str, str]) -> dict[str, str]:
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(passwords, threads.map(make_password, passwords.values()), strict=True))
