"""`manage.py transcript NAME [--json]`: every turn of a participant, half answers whole. Reading is on record."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from companion.models import Participant
from ops import audit, names
from ops.people.command import add_person_arguments, find_person, parse
from ops.text import escape_controls
from ops.transcripts import formatting
from ops.transcripts.queries import list_turns_of
from ops.transcripts.records import TurnRecord


class Command(BaseCommand):
    help = (
        "Prints every turn of a participant with its whole story. That it was read, and by whom, is recorded."
    )
    # Transcripts must be readable while the persona file is invalid.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_person_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON document for programs")
        parser.add_argument("--by", metavar="WHO", help="who reads it; the record names this account as well")

    def handle(
        self, *args: Any, name: str, site: str | None, number: int | None, by: str | None, **options: Any
    ) -> None:
        person = find_person(name, site=site, number=number)
        who = None if by is None else parse(names.clean_by, by)
        turns = list_turns_of(person.pk)
        note = audit.format_command_note(f"{len(turns)} turns")
        audit.record(audit.READ_TRANSCRIPT, who=who or audit.get_account(), about=person.pk, note=note)
        self.stdout.write(_document(person, turns) if options["json"] else _text(person, turns))


def _document(person: Participant, turns: list[TurnRecord]) -> str:
    facts = {
        "participant": {
            "id": person.pk,
            "name": person.name,
            "site": person.site.slug,
            "is_active": person.is_active,
        },
        "read_at": timezone.now().isoformat(),
        "turns": [formatting.build_document(turn) for turn in turns],
    }
    # Escape: separators and overrides in what people wrote could break a line or a terminal.
    return json.dumps(facts, indent=1)


def _text(person: Participant, turns: list[TurnRecord]) -> str:
    count = f"{len(turns)} turn{'' if len(turns) == 1 else 's'}"
    heading = f"{escape_controls(person.name)}, {person.site.name} ({person.site.slug}): {count}"
    return "\n\n".join([heading, *(formatting.format_turn(turn) for turn in turns)])
