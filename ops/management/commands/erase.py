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
from ops.personal_data.erasure_list import ListUnreadable


class Command(PeopleCommand):
    help = (
        "Erases a participant: words, visits, card and notes about them. Numbers stay in the record and in the list of "
        "erasures, by which a restored backup forgets them again. It cannot be undone. "
        "Exit code 0: erased; 1: nothing was changed, or not everything yet: run it again; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_person_arguments(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="count what would be deleted, and change nothing"
        )
        parser.add_argument("--by", metavar="WHO", help="who decides it; it stays on record")

    def handle(self, *args: Any, name: str, site: str | None, number: int | None, **options: Any) -> None:
        person = find_person(name, site=site, number=number)
        try:
            plan = erasure.plan_erasure(person)
            counts = (
                f"{plan.turns} turns, {plan.entries} entries of staff and the service, {plan.visits} visits, "
                f"{plan.flags} flags, {plan.drafts} drafts, {plan.needs} needs"
            )
            if options["dry_run"]:
                self.stdout.write(f"Participant {person.pk} has {counts}. Nothing was changed.")
                return
            by = parse(names.clean_by, options["by"])
            erasure.erase(
                person,
                by=by,
                lists=erasure_list.get_lists(settings.COMPANION_STATE_DIR),
                on_progress=self._show_progress,
            )
        except ChangeRefused as refusal:
            raise CommandError(f"Nothing was changed. {refusal}") from None
        except (DatabaseError, ListUnreadable, OSError) as failure:
            raise CommandError(
                f"Not everything is erased yet: {failure}. Run it again with --number {person.pk}, or start the "
                "service: it goes on by itself."
            ) from None
        self.stdout.write(
            f"Participant {person.pk} is erased: {counts}. Backups that are older still hold them, and the list of "
            f"erasures ({erasure_list.FILE}) makes a restored one forget them."
        )

    def _show_progress(self, turns: int) -> None:
        self.stderr.write(f"{turns} turns deleted")
