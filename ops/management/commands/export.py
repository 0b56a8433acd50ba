"""`manage.py export NAME --to FILE [--dry-run]`: what a participant wrote and was answered, as one page."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError

from ops import audit, names
from ops.changes import ChangeRefused
from ops.people.command import PeopleCommand, add_person_arguments, find_person, parse
from ops.personal_data.dry_run import NOTHING_CHANGED, add_dry_run_argument, refuse_changes
from ops.personal_data.export import export_person
from ops.personal_data.export_file import check_target, write_export
from ops.personal_data.job_progress import JobProgress
from ops.personal_data.person_counts import count_person
from ops.project.wiring.turns import build_turn_policy


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
        add_dry_run_argument(parser)
        parser.add_argument("--by", metavar="WHO", help="who asks for it; it stays on record")

    def handle(self, *args: Any, name: str, site: str | None, number: int | None, **options: Any) -> None:
        person = find_person(name, site=site, number=number)
        path, with_notes = options["to"].absolute(), options["with_notes"]
        try:
            with refuse_changes():
                check_target(path)
                counts = count_person(person)
            if options["dry_run"]:
                self.stdout.write(
                    f"Participant {person.pk} would be exported to {path}, drafts left out: {counts}. {NOTHING_CHANGED}"
                )
                return
            by = parse(names.clean_by, options["by"])
            with write_export(path) as file, JobProgress("turns exported", self.stderr) as progress:
                note = f"{'with' if with_notes else 'without'} notes, {counts.note}"
                audit.record(
                    audit.EXPORTED_PERSON, who=by, about=person.pk, note=audit.format_command_note(note)
                )
                policy = build_turn_policy()
                file.writelines(
                    export_person(person, policy, with_notes=with_notes, on_progress=progress.show)
                )
        except ChangeRefused as refusal:
            raise CommandError(f"Nothing was written. {refusal}") from None
        except OSError as failure:
            raise CommandError(f"Nothing was written: {path}: {failure.strerror}.") from None
        except DatabaseError:
            raise CommandError("Nothing was written: the database does not answer.") from None
        self.stdout.write(str(path))
