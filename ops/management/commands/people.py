"""`manage.py people check|import|export FILE`: many people at once, as a CSV file."""

import csv
import json
from argparse import ArgumentParser
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import OperationalError

from ops import names
from ops.changes import ChangeRefused
from ops.people import lookup
from ops.people.command import PeopleCommand, add_by_argument
from ops.people.people_export import export_people
from ops.people.people_file import MAX_FILE_BYTES, PersonLine, read_people
from ops.people.people_import import ImportReport, import_people
from ops.people.people_plan import LineOutcome
from ops.personal_data.export_file import check_target, write_export


class Command(PeopleCommand):
    help = (
        "Adds the people of a CSV file, all of them or none, and writes such a file. The columns are role "
        "(participant, supervisor, operator), name, sites (short names, separated by spaces), username and email. "
        "Exit code 0: done; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="do", required=True, metavar="check|import|export")
        check = parts.add_parser("check", help="a dry run: says what an import of the file would do")
        add = parts.add_parser("import", help="adds everyone in the file who is not there")
        export = parts.add_parser("export", help="writes everyone; the file is for your account alone")
        for part in (check, add, export):
            part.add_argument("file", type=Path)
        for part in (check, add):
            part.add_argument("--json", action="store_true", help="the answer as one object")
        for part in (add, export):
            add_by_argument(part)
        add.add_argument("--dry-run", action="store_true", help="as check")
        add.add_argument(
            "--passwords",
            type=Path,
            metavar="FILE",
            help="gives new staff passwords, and writes them into this new file; without it they have none",
        )
        export.add_argument("--site", metavar="SLUG", help="the people of this site alone")

    def handle(self, *args: Any, do: str, file: Path, **options: Any) -> None:
        try:
            if do == "export":
                self._export(file, site=options["site"], by=names.clean_by(options["by"]))
            else:
                self._import(file, do, options)
        except ChangeRefused as refusal:
            raise CommandError(f"Nothing was changed. {refusal}") from None
        except OSError as failure:
            raise CommandError(f"Nothing was changed. {failure.filename}: {failure.strerror}.") from None
        except OperationalError:
            raise CommandError("Nothing was changed: the database does not answer.") from None

    def _export(self, file: Path, *, site: str | None, by: str) -> None:
        if site is not None:
            lookup.check_site(site)
        with write_export(file) as target:
            staff, participants = export_people(target, site=site, by=by)
        self.stdout.write(f"{file} names {staff} staff and {participants} participants.")

    def _import(self, file: Path, do: str, options: Mapping[str, Any]) -> None:
        is_dry_run = do == "check" or options["dry_run"]
        by = "" if do == "check" else names.clean_by(options["by"])
        people = _read(file)
        passwords: Path | None = options.get("passwords")
        if passwords is None or is_dry_run:
            report = import_people(people, by=by, is_dry_run=is_dry_run)
            self._print(report, is_dry_run=is_dry_run, as_json=options["json"])
            return
        check_target(passwords)
        report = import_people(people, by=by, keep_passwords=partial(_write_passwords, passwords))
        self._print(report, is_dry_run=False, as_json=options["json"])

    def _print(self, report: ImportReport, *, is_dry_run: bool, as_json: bool) -> None:
        refused = report.count(LineOutcome.REFUSED)
        if as_json:
            lines = [
                {"line": one.line, "outcome": one.outcome.value, "sentence": one.sentence}
                for one in report.lines
            ]
            self.stdout.write(json.dumps({"stored": report.is_stored, "lines": lines}))
        else:
            for one in report.lines:
                self.stdout.write(f"line {one.line}: {one.outcome.value}: {one.sentence}")
        if refused:
            raise CommandError(f"Nothing was changed. {refused} of {len(report.lines)} lines are refused.")
        if not as_json:
            added, same = report.count(LineOutcome.ADDED), report.count(LineOutcome.SAME)
            says = f"Nothing was changed. An import adds {added}" if is_dry_run else f"Added: {added}"
            self.stdout.write(f"{says}; there before: {same}.")


def _read(file: Path) -> list[PersonLine]:
    with file.open("rb") as source:
        return read_people(source.read(MAX_FILE_BYTES + 1))


def _write_passwords(path: Path, passwords: Mapping[str, str]) -> None:
    with write_export(path) as file:
        csv.writer(file).writerows([("username", "password"), *passwords.items()])
