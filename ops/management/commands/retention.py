"""`manage.py retention [--site SITE --messages DAYS ...] [--apply | --dry-run]`: for how long each site keeps what."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from companion.models import Site
from ops import names
from ops.people.command import PeopleCommand, parse
from ops.personal_data import retention


class Command(PeopleCommand):
    help = (
        "Says for how long each site keeps messages, closed flags, ended visits and its people's entries of the audit "
        "record; sets it for a site; counts with --dry-run what tonight's run deletes, or deletes it now with --apply. "
        "A participant under a safeguarding hold is left out. "
        "Exit code 0: done; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--site", metavar="SITE", help="the site to set times for")
        for what in retention.KEPT:
            parser.add_argument(f"--{what}", metavar="DAYS", help="a number of days, or forever")
        run = parser.add_mutually_exclusive_group()
        run.add_argument("--dry-run", action="store_true", help="count what would be deleted")
        run.add_argument("--apply", action="store_true", help="delete it now")
        parser.add_argument("--by", metavar="WHO", help="who decides it; it stays on record")

    def handle(self, *args: Any, **options: Any) -> None:
        typed = {what: options[what] for what in retention.KEPT if options[what] is not None}
        if typed:
            if options["site"] is None:
                raise CommandError("Nothing was changed. --site says which site keeps it so.", returncode=2)
            days = {what: _parse_days(text) for what, text in typed.items()}
            by = parse(names.clean_by, options["by"])
            self.report(lambda: retention.set_retention(options["site"], days, by=by))
        if options["dry_run"] or options["apply"]:
            self._run(dry_run=options["dry_run"])
        elif not typed:
            sites = Site.objects.order_by("slug")
            self.stdout.write("\n".join(map(retention.describe_retention, sites)) or "There are no sites.")

    def _run(self, *, dry_run: bool) -> None:
        deletions = retention.apply_retention(dry_run=dry_run)
        for deletion in deletions:
            counts = ", ".join(f"{what} {count}" for what, count in deletion.counts.items())
            self.stdout.write(f"{deletion.site}: {'would delete' if dry_run else 'deleted'} {counts}")
        if not deletions:
            self.stdout.write("Every site keeps everything for ever.")


def _parse_days(text: str) -> int | None:
    if text == "forever":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise CommandError("Nothing was changed. Say a number of days, or forever.", returncode=2)
    return int(text)
