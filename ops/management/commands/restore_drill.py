"""`manage.py restore_drill`: restores a backup somewhere harmless and compares everything (D1 to D7)."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from rich.console import Console

from ops import audit
from ops.backups.archive import stored_backups
from ops.backups.commands import arguments
from ops.backups.commands.error_exit import exit_on_error
from ops.backups.commands.progress_bar import ProgressBar
from ops.backups.connecting.address import SECRET_KEYWORDS, Address
from ops.backups.drill import Drill
from ops.backups.measure import measure
from ops.backups.reporting import report as reports
from ops.backups.reporting.report import Report
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring.order import DrillOrder
from ops.backups.run.error_mapping import describe_os_error
from ops.backups.run.errors import CouldNotRun
from ops.backups.run.monitor import NoProgress, RunMonitor

SETTING = "DIRECT_DATABASE_URL"


class Command(BaseCommand):
    help = (
        "Dumps the database, restores it into a scratch copy and compares every row and every object. Never writes to "
        "the source. Exit code: 0 PROVED or PROCEDURE ONLY, 1 DIFFERENT, 2 COULD NOT RUN, 3 INCONCLUSIVE, "
        "4 LEFT SOMETHING BEHIND."
    )
    # Drills must work while the persona file is invalid.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--backup", type=arguments.parse_path, metavar="PATH", help="drill this, not a fresh dump"
        )
        what.add_argument(
            "--newest-in",
            type=arguments.parse_path,
            metavar="FOLDER",
            help="drill the newest backup in this folder, by what the manifests say",
        )
        parser.add_argument(
            "--target",
            type=arguments.parse_text,
            metavar="URL",
            help="restore on this server (the URL of its maintenance database, without a password: that goes into "
            "DRILL_TARGET_URL or ~/.pgpass), or `same-server`; left out: on a private server that the drill starts "
            "and deletes itself",
        )
        parser.add_argument(
            "--jobs", type=arguments.parse_jobs, default=2, help="connections and dump workers (2)"
        )
        parser.add_argument(
            "--trust",
            action="store_true",
            help="take a backup that this service did not sign: its manifest is believed, and its functions run on the "
            "server that --target names",
        )
        parser.add_argument("--keep-dump", action="store_true", help="keep the dump with its manifest")
        parser.add_argument("--no-owner", action="store_true", help="leave owners and grants out")
        parser.add_argument(
            "--work",
            type=arguments.parse_path,
            metavar="FOLDER",
            help="where dump and private server lie meanwhile",
        )
        parser.add_argument(
            "--bin", type=arguments.parse_path, metavar="FOLDER", help="PostgreSQL's programs, if not found"
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        parser.add_argument("--quiet", action="store_true", help="no progress; the report alone")
        parser.add_argument("--measure", action="store_true", help="drill, and time it against its floor")

    def handle(self, *args: Any, **options: Any) -> None:
        quietly = options["quiet"] or options["json"]
        monitor = RunMonitor(NoProgress() if quietly else ProgressBar(Console(file=sys.stderr)))
        with exit_on_error(self.stderr.write, monitor):
            order = make_order(options)
            if options["measure"]:
                lines, verdict = measure(order, monitor)
                self.stdout.write(lines)
                sys.exit(verdict.exit_code)
            report = Drill(order, monitor).run()
            with monitor.defer_signals():
                kept_in = write_report(report, order.reports)
        if report.kept_dump:
            fault = audit.record_command(audit.KEPT_DUMP, f"dump {Path(report.kept_dump).name}")
            if fault:
                self.stderr.write(fault)
        self.stdout.write(report.to_json() if options["json"] else report.to_text())
        if isinstance(kept_in, OSError):
            # A proof that is not on record does not count: without it the next drill would be due too late.
            why = describe_os_error(kept_in)
            self.stderr.write(
                f"The report could not be kept in {order.reports}: {why}. This drill does not count."
            )
            sys.exit(report.verdict.exit_code or DrillVerdict.COULD_NOT_RUN.exit_code)
        if not options["json"]:
            self.stdout.write(f"Report   {kept_in}")
        sys.exit(report.verdict.exit_code)


def write_report(report: Report, folder: Path) -> Path | OSError:
    """Write the report; return the path of its page, or the error."""
    try:
        return reports.write(report, folder)
    except OSError as refusal:
        return refusal


def make_order(options: dict[str, Any]) -> DrillOrder:
    """Make the order from command-line options and settings. Raises CouldNotRun."""
    archive = options["backup"] or _find_newest(options["newest_in"])
    if options["measure"] and archive:
        raise CouldNotRun("--measure times a fresh dump.", mend="Name no backup, or drill without --measure.")
    target = options["target"] or settings.DRILL_TARGET_URL
    target_setting = "--target" if options["target"] else "DRILL_TARGET_URL"
    same = target == "same-server"
    named = Address.parse(target, setting=target_setting) if target and not same else None
    usual = settings.DRILL_TARGET_URL
    is_usual_known = usual and usual != "same-server"
    if options["target"] and named and SECRET_KEYWORDS & named.keywords.keys():
        raise CouldNotRun(
            "A password on a command line can be read by every account on this machine.",
            mend="Put the whole address into DRILL_TARGET_URL, or the password into ~/.pgpass.",
        )
    return DrillOrder(
        source=find_direct_address(),
        state=settings.COMPANION_STATE_DIR,
        key=settings.BACKUP_KEY,
        trust=options["trust"],
        identity=settings.BACKUP_IDENTITY_FILE,
        archive=archive.absolute() if archive else None,
        where="same server" if same else "target" if target else "private server",
        target=named,
        target_setting=target_setting,
        jobs=options["jobs"],
        keep_dump=options["keep_dump"],
        no_owner=options["no_owner"],
        work=options["work"],
        bin=options["bin"],
        setting=SETTING,
        in_use=read_service_address(),
        known=(Address.parse(usual, setting="DRILL_TARGET_URL"),) if is_usual_known else (),
    )


def _find_newest(folder: Path | None) -> Path | None:
    if folder is None:
        return None
    if (found := stored_backups.find_newest(folder)) is None:
        raise CouldNotRun(
            f"There is no complete backup in {folder}.",
            mend="Name the folder that manage.py backup writes to, or make a backup first.",
        )
    return found


def find_direct_address() -> Address:
    """Return the address that backup and drill connect to: of several servers the primary. Raises CouldNotRun."""
    direct = Address.parse(settings.DIRECT_DATABASE_URL, setting=SETTING, may_name_several=True)
    return direct.find_primary(setting=SETTING)


def read_service_address() -> Address | None:
    """Return the service's address, or None if it is the direct one. Raises CouldNotRun."""
    if settings.DATABASE_URL == settings.DIRECT_DATABASE_URL:
        return None
    return Address.parse(settings.DATABASE_URL, setting="DATABASE_URL", may_name_several=True)
