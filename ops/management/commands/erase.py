"""`manage.py erase NAME [--dry-run]`: everything that is kept of a participant, for good."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError

from ops import names
from ops.changes import ChangeRefused
from ops.people.command import PeopleCommand, add_person_arguments, find_person, parse
from ops.personal_data import erasure, erasure_list
from ops.personal_data.dry_run import NOTHING_CHANGED, add_dry_run_argument, refuse_changes
from ops.personal_data.erasure_list import ListUnreadable
from ops.personal_data.job_progress import JobProgress


class Command(PeopleCommand):
    help = (
        "Erases a participant: words, visits, card and notes about them. Numbers stay in the record and in the list of "
        "erasures, by which a restored backup forgets them again. It cannot be undone. "
        "Exit code 0: erased; 1: nothing was changed, or not everything yet: run it again; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_person_arguments(parser)
        add_dry_run_argument(parser)
        parser.add_argument("--by", metavar="WHO", help="who decides it; it stays on record")

    def handle(self, *args: Any, name: str, site: str | None, number: int | None, **options: Any) -> None:
        person = find_person(name, site=site, number=number)
        try:
            with refuse_changes():
                plan = erasure.plan_erasure(person)
            if options["dry_run"]:
                self.stdout.write(f"Participant {person.pk} would be erased: {plan}. {NOTHING_CHANGED}")
                return
            by = parse(names.clean_by, options["by"])
            lists = erasure_list.get_lists(settings.COMPANION_STATE_DIR)
            with JobProgress("turns deleted", self.stderr) as progress:
                erasure.erase(person, by=by, lists=lists, on_progress=progress.show)
        except ChangeRefused as refusal:
            raise CommandError(f"Nothing was changed. {refusal}") from None
        except (DatabaseError, ListUnreadable, OSError) as failure:
            raise CommandError(
                f"Not everything is erased yet: {failure}. Run it again with --number {person.pk}, or start the "
                "service: it goes on by itself."
            ) from None
        self.stdout.write(
            f"Participant {person.pk} is erased: {plan}. Backups that are older still hold them, and the list of "
            f"erasures ({erasure_list.FILE}) makes a restored one forget them."
        )
