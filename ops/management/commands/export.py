"""`manage.py export NAME --to FILE`: everything a participant wrote and was answered, in one page to read or print."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ops import audit, names
from ops.people.command import PeopleCommand, add_person_arguments, find_person, parse
from ops.personal_data.export import export_person


class Command(PeopleCommand):
    help = (
        "Writes one page of HTML with a participant's conversation, visits and the times staff were called. Each line "
        "names who speaks, half answers are left out, and a browser prints it. Who exported it is recorded. "
        "Exit code 0: written; 1: nothing was written; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_person_arguments(parser)
        parser.add_argument(
            "--to", type=Path, required=True, metavar="FILE", help="a new file, such as rosa.html"
        )
        parser.add_argument(
            "--with-notes",
            action="store_true",
            help="with what staff wrote about flags: for the programme, not for the participant",
        )
        parser.add_argument("--by", metavar="WHO", help="who asks for it; it stays on record")

    def handle(self, *args: Any, name: str, site: str | None, number: int | None, **options: Any) -> None:
        # Imported late: wiring reads the persona.
        from ops.project import wiring

        person = find_person(name, site=site, number=number)
        by = parse(names.clean_by, options["by"])
        path, with_notes = options["to"].absolute(), options["with_notes"]
        try:
            # For its owner alone, and never over another file.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise CommandError(f"Nothing was written: {path} is there already.") from None
        except OSError as failure:
            raise CommandError(f"Nothing was written: {path}: {failure.strerror}.") from None
        note = audit.format_command_note("with notes" if with_notes else "without notes")
        audit.record(audit.EXPORTED_PERSON, who=by, about=person.pk, note=note)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.writelines(export_person(person, wiring.build_turn_policy(), with_notes=with_notes))
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        self.stdout.write(str(path))
