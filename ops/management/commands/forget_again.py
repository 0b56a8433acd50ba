"""`manage.py forget_again [--list FILE]`: makes a restored database forget the people who were erased since."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from ops import audit
from ops.personal_data import erasure, erasure_list
from ops.personal_data.erasure_list import ListUnreadable


class Command(BaseCommand):
    help = (
        "Erases every participant of the list of erasures who is in the database, after an older backup was restored. "
        "Every web process does the same before it serves, with the lists of its own machine. "
        "Exit code 0: done; 1: not done, run it again."
    )
    # It must work while the persona file is invalid.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--list",
            type=Path,
            action="append",
            metavar="FILE",
            help="a list that lies beside backups; several may be named",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        own = erasure_list.get_lists(settings.COMPANION_STATE_DIR)
        paths = [*(options["list"] or ()), *own]
        for path in options["list"] or ():
            if not path.is_file():
                raise CommandError(f"There is no list {path}. Nothing was changed.")
        try:
            people = [person for path in paths for person in erasure_list.read_list(path)]
            count = erasure.forget_again(people, by=audit.get_account(), lists=own)
        except (DatabaseError, ListUnreadable, OSError) as failure:
            raise CommandError(f"Not everything is forgotten yet: {failure}") from None
        known = len({person.identity for person in people})
        self.stdout.write(f"Erasures on the lists: {known}. Forgotten again: {count}.")
