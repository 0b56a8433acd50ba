"""`manage.py ceiling [N|--default --by WHO --reason WHY]`: how many turns may speak at once, shown or set meanwhile."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from companion.models import Ceiling
from ops import audit, names
from ops.people.command import read

LOWEST, HIGHEST = 1, 10_000
LOOK_BACK = 5


class Command(BaseCommand):
    help = (
        "Shows the operators' ceiling on turns in flight, or sets it. It holds from the next turn on, "
        "in every process; lowering it cuts nobody off. --default goes back to the setting. "
        "Each change is a row that stays, with who and why."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        wanted = parser.add_mutually_exclusive_group()
        wanted.add_argument(
            "value", nargs="?", type=int, metavar="N", help="turns in flight, over all processes"
        )
        wanted.add_argument(
            "--default",
            action="store_true",
            help="back to the setting COMPANION_CEILING, whatever it will be",
        )
        parser.add_argument("--by", metavar="WHO", help="who sets it")
        parser.add_argument("--reason", metavar="WHY", help="why; no word about any participant")
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(
        self, *args: Any, value: int | None, by: str | None, reason: str | None, **options: Any
    ) -> None:
        if value is not None or options["default"]:
            _set(value, by=read(names.who, by), reason=read(names.why, reason))
        elif by or reason:
            raise CommandError("Say which ceiling: manage.py ceiling N --by WHO --reason WHY, or --default.")
        rows = list(Ceiling.objects.order_by("-id")[:LOOK_BACK])
        chosen = rows[0].value if rows else None
        now = settings.COMPANION_CEILING if chosen is None else chosen
        if options["json"]:
            listed = [
                {"value": row.value, "by": row.by, "reason": row.reason, "at": row.at.isoformat()}
                for row in rows
            ]
            self.stdout.write(
                json.dumps({"ceiling": now, "setting": settings.COMPANION_CEILING, "changes": listed})
            )
            return
        for row in reversed(rows):
            said = "back to the setting," if row.value is None else f"{row.value}, set"
            self.stdout.write(f"{row.at:%d %b %Y, %H:%M:%S} UTC  {said} by {row.by}: {row.reason}")
        whose = "set by operators" if chosen is not None else "the setting COMPANION_CEILING"
        whose += "; operators have set none" if not rows else ""
        self.stdout.write(f"Turns in flight at once: {now} ({whose}). A preset or a lane may allow fewer.")


def _set(value: int | None, *, by: str, reason: str) -> None:
    if value is not None and not LOWEST <= value <= HIGHEST:
        raise CommandError(f"A ceiling is from {LOWEST} to {HIGHEST}; it cannot be {value}.")
    # No bell: the gate of every process reads the last row whenever it runs, once a second at least.
    with transaction.atomic():
        Ceiling.objects.create(value=value, by=by, reason=reason)
        audit.record(audit.SET_CEILING, who=by, note=audit.by_command(f"ceiling {value or 'default'}"))
