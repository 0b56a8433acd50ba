"""`manage.py hold [NAME] [--dry-run]`: a safeguarding hold stops erasure and deletion by age for one participant."""

from argparse import ArgumentParser
from datetime import date
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from companion.models import Participant
from ops import names
from ops.changes import ChangeResult
from ops.people.command import PeopleCommand, add_person_arguments, find_person, parse
from ops.personal_data import holds
from ops.personal_data.dry_run import add_dry_run_argument, refuse_changes


class Command(PeopleCommand):
    help = (
        "Places a safeguarding hold on a participant, or ends it. While it is open, nothing of them is erased or "
        "deleted by age. Without a name: lists the holds whose review is overdue. Who and why are recorded. "
        "Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_person_arguments(parser)
        parser._get_positional_actions()[0].nargs = "?"
        parser.add_argument("--reason", help="why; it stays on record, without what anyone wrote")
        parser.add_argument(
            "--review-by", type=date.fromisoformat, metavar="DAY", help="such as 2027-03-31, within a year"
        )
        parser.add_argument("--end", action="store_true", help="end the hold")
        add_dry_run_argument(parser)
        parser.add_argument("--by", metavar="WHO", help="who decides it; it stays on record")

    def handle(
        self, *args: Any, name: str | None, site: str | None, number: int | None, **options: Any
    ) -> None:
        if name is None:
            self._list_overdue()
            return
        person = find_person(name, site=site, number=number)
        if options["dry_run"]:
            with refuse_changes():
                self.report(lambda: self._plan(person, **options))
            return
        by = parse(names.clean_by, options["by"])
        if options["end"]:
            self.report(lambda: holds.end_hold(person, by=by))
            return
        reason, review_by = _parse_order(**options)
        self.report(lambda: holds.place_hold(person, reason=reason, review_by=review_by, by=by))

    def _plan(self, person: Participant, **options: Any) -> ChangeResult:
        if options["end"]:
            return holds.plan_end(person)
        _reason, review_by = _parse_order(**options)
        return holds.plan_hold(person, review_by=review_by)

    def _list_overdue(self) -> None:
        overdue = holds.list_overdue(timezone.localdate())
        self.stdout.write("\n".join(map(holds.describe_hold, overdue)) or "No review is overdue.")


def _parse_order(*, reason: str | None, review_by: date | None, **_: Any) -> tuple[str, date]:
    if review_by is None:
        raise CommandError(
            "Nothing was changed. --review-by says when the hold is looked at again.", returncode=2
        )
    return parse(names.clean_reason, reason), review_by
