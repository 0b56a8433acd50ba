"""`manage.py backup`: a dump with the manifest of the same snapshot; the path is the last line (D4)."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError
from rich.console import Console

from ops import audit
from ops.alerts import backups
from ops.backups.backup import BackupOrder, back_up
from ops.backups.commands import arguments
from ops.backups.commands.error_exit import exit_on_error
from ops.backups.commands.progress_bar import ProgressBar
from ops.backups.copying import copy_elsewhere
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.error_mapping import map_error
from ops.backups.run.monitor import NoProgress, RunMonitor
from ops.management.commands.restore_drill import find_direct_address, read_service_address
from ops.personal_data import erasure, erasure_list
from ops.personal_data.erasure_list import ListUnreadable

SETTING = "DIRECT_DATABASE_URL"


class Command(BaseCommand):
    help = (
        "Writes a dump and its manifest, taken at one snapshot, into a folder of its own, and prints its path as the "
        "last line. With BACKUP_RECIPIENTS it is encrypted, with BACKUP_COPY_COMMAND copied elsewhere. Exit code: 0 "
        "made, 2 COULD NOT RUN (or made, and not copied), 3 INCONCLUSIVE (run it again)."
    )
    # Backups must work while the persona file is invalid.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to",
            type=arguments.parse_path,
            metavar="FOLDER",
            help="default: backups under the state folder",
        )
        parser.add_argument(
            "--keep",
            type=arguments.parse_zero_or_more,
            default=14,
            help="how many stay, this one included (14); 0: all",
        )
        parser.add_argument(
            "--jobs", type=arguments.parse_jobs, default=2, help="connections and dump workers (2)"
        )
        parser.add_argument(
            "--bin", type=arguments.parse_path, metavar="FOLDER", help="PostgreSQL's programs, if not found"
        )
        parser.add_argument("--quiet", action="store_true", help="print the path alone")

    def handle(self, *args: Any, **options: Any) -> None:
        monitor = RunMonitor(NoProgress() if options["quiet"] else ProgressBar(Console(file=sys.stderr)))
        try:
            with exit_on_error(self.stderr.write, monitor):
                made = back_up(
                    BackupOrder(
                        source=find_direct_address(),
                        key=settings.BACKUP_KEY,
                        recipients="\n".join(settings.BACKUP_RECIPIENTS),
                        into=options["to"] or settings.COMPANION_STATE_DIR / "backups",
                        keep=options["keep"],
                        jobs=options["jobs"],
                        bin=options["bin"],
                        setting=SETTING,
                        in_use=read_service_address(),
                        state=settings.COMPANION_STATE_DIR,
                    ),
                    monitor,
                )
        except SystemExit as stopped:
            backups.report_failure(f"manage.py backup ended with {stopped.code}")
            raise
        if fault := audit.record_command(audit.MADE_BACKUP, f"{made.path.name}, {made.rows} rows"):
            self.stderr.write(fault)
        if fault := self._write_erasures(made.path.parent):
            self.stderr.write(fault)
        uncopied = self._copy_elsewhere(made.path, monitor)
        if made.in_use_doubt:
            backups.report_failure("it may not be of the database in use")
        elif uncopied:
            backups.report_failure("it was made here, and not copied elsewhere")
        else:
            backups.record_backup()
        for name in made.stuck:
            self.stderr.write(f"This backup is whole. An old one could not be removed: {name}")
        if made.in_use_doubt:
            self.stderr.write(
                f"This backup is whole. It may not be of the database in use: {made.in_use_doubt}."
            )
        if not options["quiet"]:
            seconds = ", ".join(f"{name} {spent:.1f}" for name, spent in made.seconds.items())
            self.stdout.write(f"{made.rows:,} rows, {made.bytes / 1_000_000:,.1f} MB. Seconds: {seconds}.")
            self.stdout.write(f"Removed: {', '.join(made.removed) or 'none'}.")
            for line in made.left_alone:
                self.stdout.write(f"Not counted and left alone: {line}.")
        self.stdout.write(str(made.path))
        if uncopied:
            self.stderr.write(f"This backup is whole here. It could not be copied elsewhere: {uncopied}")
            sys.exit(DrillVerdict.COULD_NOT_RUN.exit_code)

    def _copy_elsewhere(self, backup: Path, monitor: RunMonitor) -> str:
        """Copy backup and list of erasures elsewhere, if that is set. Returns why it failed, or an empty text."""
        if not settings.BACKUP_COPY_COMMAND:
            return ""
        try:
            with monitor.listen_for_signals():
                copy_elsewhere(
                    backup,
                    settings.BACKUP_COPY_COMMAND,
                    beside=[backup.parent / erasure_list.FILE],
                    monitor=monitor,
                )
        except (Exception, KeyboardInterrupt) as error:
            return str(map_error(error))
        return ""

    def _write_erasures(self, folder: Path) -> str:
        """Put the list of erasures beside the backups. Returns a sentence if that failed, else an empty text."""
        try:
            erasure_list.add_to_list(folder / erasure_list.FILE, erasure.list_erased())
        except (DatabaseError, ListUnreadable, OSError) as failure:
            if getattr(failure.__cause__, "sqlstate", None) != audit.UNDEFINED_TABLE:
                return (
                    f"This backup is whole. The list of erasures could not be written beside it: {failure}."
                )
        return ""
