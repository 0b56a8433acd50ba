"""`manage.py flags [--json]`: the flags that are not closed, without a word of anyone."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from companion.models import Site
from ops import audit, names
from ops.changes import ChangeRefused
from ops.supervision.flag_list import FlagLine, list_flags
from ops.text import escape_controls, format_time


class Command(BaseCommand):
    help = (
        "Lists the flags that are not closed: number, tier, kind, person, site, state, owner and times. It holds no "
        "word of anyone. Exit code 0: listed; 1: no such site."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--site", metavar="SITE", help="the flags of one site")
        parser.add_argument(
            "--all", action="store_true", help="the newest flags of each site, closed ones too"
        )
        parser.add_argument("--json", action="store_true", help="one document, for programs")

    def handle(self, *args: Any, site: str | None, **options: Any) -> None:
        try:
            slug = names.clean_slug(site) if site else None
        except ChangeRefused as refusal:
            raise CommandError(str(refusal)) from None
        sites = Site.objects.filter(slug=slug) if slug else Site.objects.all()
        if slug and not sites.exists():
            raise CommandError(f"There is no site {slug}.")
        audit.record_command(audit.LISTED_FLAGS, f"site {slug}" if slug else "")
        lines = list_flags([one.pk for one in sites], with_closed=options["all"])
        if options["json"]:
            self.stdout.write(json.dumps({"flags": [line.to_document() for line in lines]}))
            return
        self.stdout.write("\n".join(map(_format, lines)) or "No flag is open.")


def _format(line: FlagLine) -> str:
    view = line.view
    age_s = round((timezone.now() - view.opened_at).total_seconds())
    owner = f", {escape_controls(view.owner_name)}" if view.owner_name else ""
    name = escape_controls(view.participant_name) or "erased"
    return (
        f"{view.id:>6}  {view.tier:<5}  {view.kind:<20}  {name} ({escape_controls(view.site_name)})  "
        f"{view.state}{owner}, raised {format_time(view.opened_at)}, {age_s} s ago, {view.count} times"
    )
