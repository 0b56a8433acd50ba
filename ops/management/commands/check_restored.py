"""`manage.py check_restored BACKUP`: whether the database in use now holds what that backup held."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from rich.console import Console

from ops.drill.address import Address
from ops.drill.bar import Bar
from ops.drill.errors import DrillStopped
from ops.drill.restored import hold_against
from ops.drill.verdict import Verdict
from ops.drill.watch import Watch

SETTING = "DIRECT_DATABASE_URL"


class Command(BaseCommand):
    help = (
        "Compares the database in use with a backup's manifest and leaves it as it is. "
        "Exit code: 0 alike, 1 DIFFERENT, 2 COULD NOT RUN."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("backup", type=Path, help="the backup's folder, with manifest.json in it")
        parser.add_argument("--jobs", type=int, default=2)
        parser.add_argument("--no-owner", action="store_true", help="leave owners and grants out")

    def handle(self, *args: Any, backup: Path, jobs: int, no_owner: bool, **options: Any) -> None:
        watch = Watch(Bar(Console(file=sys.stderr)))
        try:
            address = Address.of(settings.DIRECT_DATABASE_URL, setting=SETTING)
            with watch.listening():
                held = hold_against(
                    address,
                    backup.absolute(),
                    setting=SETTING,
                    jobs=max(1, jobs),
                    no_owner=no_owner,
                    watch=watch,
                )
        except DrillStopped as stop:
            self.stderr.write(f"{Verdict.COULD_NOT_RUN}: {stop}")
            sys.exit(Verdict.COULD_NOT_RUN.exit_code)
        for line in [*held.remarks, *map(str, held.differences)]:
            self.stdout.write(f"- {line}")
        if held.differences:
            self.stdout.write(f"{Verdict.DIFFERENT}: {len(held.differences)} differences from the backup.")
            sys.exit(Verdict.DIFFERENT.exit_code)
        self.stdout.write(f"Alike: {held.rows:,} rows and every object are as the backup held them.")
