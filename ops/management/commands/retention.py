"""`manage.py retention [--site SITE --messages DAYS ...] [--apply | --dry-run]`: for how long each site keeps what."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from companion.models import Site
from ops import audit, names
from ops.changes import ChangeRefused
from ops.people.command import PeopleCommand, parse
from ops.personal_data import retention, retention_times
from ops.personal_data.dry_run import NOTHING_CHANGED, add_dry_run_argument, refuse_changes
from ops.personal_data.job_progress import JobProgress


class Command(PeopleCommand):
    help = (
        "Says for how long each site keeps messages, closed flags, ended visits and its people's entries of the audit "
        "record; sets it for a site; counts with --dry-run what tonight's run deletes, or deletes it now with --apply. "
        "A participant under a safeguarding hold is left out. "
        "Exit code 0: done; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--site", metavar="SITE", help="the site to set times for")
        for what in retention_times.KEPT:
            parser.add_argument(f"--{what}", metavar="DAYS", help="a number of days, or forever")
        run = parser.add_mutually_exclusive_group()
        add_dry_run_argument(run)
        run.add_argument("--apply", action="store_true", help="delete it now")
        parser.add_argument("--by", metavar="WHO", help="who decides it; it stays on record")

    def handle(self, *args: Any, **options: Any) -> None:
        typed = {what: options[what] for what in retention_times.KEPT if options[what] is not None}
        if typed and options["site"] is None:
            raise CommandError("Nothing was changed. --site says which site keeps it so.", returncode=2)
        days = {what: _parse_days(text) for what, text in typed.items()}
        if options["dry_run"]:
            self._count(options["site"], days)
            return
        by = parse(names.clean_by, options["by"]) if typed or options["by"] else audit.get_account()
        if days:
            self.report(lambda: retention_times.set_retention(options["site"], days, by=by))
        if options["apply"]:
            with JobProgress("people looked at", self.stderr) as progress:
                deletions = retention.apply_retention(by=by, on_progress=progress.show)
            self._list(deletions, "deleted")
        elif not days:
            sites = Site.objects.order_by("slug")
            self.stdout.write(
                "\n".join(map(retention_times.describe_retention, sites)) or "There are no sites."
            )

    def _count(self, slug: str | None, days: dict[str, int | None]) -> None:
        changed = None
        if slug is not None and days:
            try:
                with transaction.atomic():
                    changed = retention_times.check_retention(slug, days)
            except ChangeRefused as refusal:
                raise CommandError(f"{NOTHING_CHANGED} {refusal}") from None
            self.stdout.write(f"It would be set: {retention_times.describe_retention(changed)}")
        with refuse_changes(), JobProgress("people looked at", self.stderr) as progress:
            deletions = retention.count_deletions(changed, on_progress=progress.show)
        self._list(deletions, "would delete")
        self.stdout.write(NOTHING_CHANGED)

    def _list(self, deletions: list[retention.SiteDeletion], verb: str) -> None:
        for deletion in deletions:
            counts = ", ".join(f"{what} {count}" for what, count in deletion.counts.items())
            self.stdout.write(f"{deletion.site}: {verb} {counts}")
        if not deletions:
            self.stdout.write("Every site keeps everything for ever.")


def _parse_days(text: str) -> int | None:
    if text == "forever":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise CommandError("Nothing was changed. Say a number of days, or forever.", returncode=2)
    return int(text)
