"""`manage.py ceiling [N|--default --by WHO --reason WHY]`: shows or sets how many turns may be in flight."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from companion.models import Ceiling
from ops import audit, names
from ops.people.command import parse

MIN_CEILING, MAX_CEILING = 1, 10_000
HISTORY_ROWS = 5


class Command(BaseCommand):
    help = (
        "Shows the operators' ceiling on turns in flight, or sets it. It applies to the next turn, "
        "in every process; turns in flight go on. --default returns to the setting. "
        "Each change is kept as a row, with who and why."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        target = parser.add_mutually_exclusive_group()
        target.add_argument(
            "value", nargs="?", type=int, metavar="N", help="turns in flight, over all processes"
        )
        target.add_argument(
            "--default",
            action="store_true",
            help="return to the setting COMPANION_CEILING",
        )
        parser.add_argument("--by", metavar="WHO", help="who sets it")
        parser.add_argument("--reason", metavar="WHY", help="why; no word about any participant")
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(
        self, *args: Any, value: int | None, by: str | None, reason: str | None, **options: Any
    ) -> None:
        if value is not None or options["default"]:
            _set_ceiling(value, by=parse(names.clean_by, by), reason=parse(names.clean_reason, reason))
        elif by or reason:
            raise CommandError("Name the ceiling: manage.py ceiling N --by WHO --reason WHY, or --default.")
        rows = list(Ceiling.objects.order_by("-id")[:HISTORY_ROWS])
        chosen = rows[0].value if rows else None
        ceiling = settings.COMPANION_CEILING if chosen is None else chosen
        if options["json"]:
            changes = [
                {"value": row.value, "by": row.by, "reason": row.reason, "at": row.at.isoformat()}
                for row in rows
            ]
            self.stdout.write(
                json.dumps({"ceiling": ceiling, "setting": settings.COMPANION_CEILING, "changes": changes})
            )
            return
        for row in reversed(rows):
            change = "back to the setting," if row.value is None else f"{row.value}, set"
            self.stdout.write(f"{row.at:%d %b %Y, %H:%M:%S} UTC  {change} by {row.by}: {row.reason}")
        source = "set by operators" if chosen is not None else "the setting COMPANION_CEILING"
        source += "; operators have set none" if not rows else ""
        self.stdout.write(
            f"Turns in flight at once: {ceiling} ({source}). A preset or a lane may allow fewer."
        )


def _set_ceiling(value: int | None, *, by: str, reason: str) -> None:
    if value is not None and not MIN_CEILING <= value <= MAX_CEILING:
        raise CommandError(f"A ceiling must be from {MIN_CEILING} to {MAX_CEILING}; it is {value}.")
    # No notification is needed: the gate of every process reads the last row each time it runs, at least once a second.
    with transaction.atomic():
        Ceiling.objects.create(value=value, by=by, reason=reason)
        audit.record(
            audit.SET_CEILING, who=by, note=audit.format_command_note(f"ceiling {value or 'default'}")
        )
