"""`manage.py check_restored BACKUP`: whether the database in use now holds what that backup held."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from rich.console import Console

from ops.backups.check_restored import compare_with_manifest, list_statements
from ops.backups.commands import arguments
from ops.backups.commands.error_exit import exit_on_error
from ops.backups.commands.progress_bar import ProgressBar
from ops.backups.connecting.address import Address
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.monitor import RunMonitor
from ops.management.commands.restore_drill import find_direct_address, read_service_address
from ops.personal_data import erasure_list
from ops.personal_data.erasure_list import ListUnreadable

SETTING = "DIRECT_DATABASE_URL"


class Command(BaseCommand):
    help = (
        "Compares the database in use with a backup's manifest and leaves it as it is. "
        "Exit code: 0 alike, 1 DIFFERENT, 2 COULD NOT RUN, 3 INCONCLUSIVE (run it again)."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "backup", type=arguments.parse_path, help="the backup's folder, with manifest.json in it"
        )
        parser.add_argument("--jobs", type=arguments.parse_jobs, default=2, help="connections (2)")
        parser.add_argument("--no-owner", action="store_true", help="leave owners and grants out")
        parser.add_argument(
            "--trust",
            action="store_true",
            help="believe a manifest that this service did not sign; definitions that are only printed otherwise "
            "then count as differences",
        )
        parser.add_argument(
            "--statements",
            action="store_true",
            help="print what makes the roles and the empty database that DATABASE_URL names; connect to nothing",
        )

    def handle(self, *args: Any, backup: Path, jobs: int, no_owner: bool, **options: Any) -> None:
        monitor = RunMonitor(ProgressBar(Console(file=sys.stderr)))
        with exit_on_error(self.stderr.write, monitor):
            if options["statements"]:
                serving = Address.parse(settings.DATABASE_URL, setting="DATABASE_URL", may_name_several=True)
                owner = serving.keywords.get("user", "companion")
                for statement in list_statements(
                    backup.absolute(),
                    name=serving.database,
                    owner=owner,
                    key=settings.BACKUP_KEY,
                    trust=options["trust"],
                ):
                    self.stdout.write(statement)
                return
            held = compare_with_manifest(
                find_direct_address(),
                backup.absolute(),
                setting=SETTING,
                jobs=jobs,
                no_owner=no_owner,
                monitor=monitor,
                key=settings.BACKUP_KEY,
                trust=options["trust"],
                serving=read_service_address(),
            )
        for line in [*held.remarks, *map(str, held.differences)]:
            self.stdout.write(f"- {line}")
        if not held.differences:
            self.stdout.write(f"Alike: {held.rows:,} rows and every object are as the backup held them.")
            self._explain_erasures(backup.absolute())
            return
        self.stdout.write(f"{DrillVerdict.DIFFERENT}: differences from the backup: {len(held.differences)}.")
        if held.other_sessions:
            self.stdout.write(
                f"Sessions of others on this database: {held.other_sessions}. "
                "A service that runs on it changes its rows: stop it, and check again."
            )
        sys.exit(DrillVerdict.DIFFERENT.exit_code)

    def _explain_erasures(self, backup: Path) -> None:
        beside = backup.parent / erasure_list.FILE
        own = erasure_list.get_lists(settings.COMPANION_STATE_DIR)
        try:
            erased = {person.identity for path in (beside, *own) for person in erasure_list.read_list(path)}
        except (ListUnreadable, OSError) as failure:
            self.stdout.write(f"The list of erasures cannot be read: {failure}")
            return
        if erased:
            self.stdout.write(
                f"Erasures on the lists: {len(erased)}. This backup may hold people who were erased after it. Before "
                f"anyone is let in: manage.py forget_again --list {beside if beside.exists() else own[0]}"
            )
