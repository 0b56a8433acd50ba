"""`manage.py transcript NAME [--json]`: every turn of a participant, half answers whole. Reading is on record."""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from companion.access import find_participants
from companion.models import Participant
from ops import audit, names
from ops.people.command import read
from ops.text import escape_controls
from ops.transcripts import formatting
from ops.transcripts.queries import stories_of
from ops.transcripts.shapes import Story


class Command(BaseCommand):
    help = (
        "Prints every turn of a participant with its whole story. That it was read, and by whom, is recorded."
    )
    # What was said must be readable while the persona file is being mended.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the participant's name, as staff know it")
        parser.add_argument("--json", action="store_true", help="print one JSON document for programs")
        parser.add_argument("--site", metavar="SLUG", help="where there are several of that name")
        parser.add_argument(
            "--number", type=int, help="the participant's number, where even the site is the same"
        )
        parser.add_argument("--by", metavar="WHO", help="who reads it; the record names this account as well")

    def handle(
        self, *args: Any, name: str, site: str | None, number: int | None, by: str | None, **options: Any
    ) -> None:
        asked = read(names.name, name)
        where = None if site is None else read(partial(names.name, whose="What --site names"), site)
        # Names of an earlier release are stored as they were typed.
        found = [one for word in (asked, name) for one in find_participants(word, site=where, number=number)]
        person = only(list(dict.fromkeys(found)), name=asked)
        who = None if by is None else read(names.who, by)
        stories = stories_of(person.pk)
        note = audit.by_command(f"{len(stories)} turns")
        audit.record(audit.READ_TRANSCRIPT, who=who or audit.this_account(), about=person.pk, note=note)
        self.stdout.write(_document(person, stories) if options["json"] else _text(person, stories))


def only(people: Sequence[Participant], *, name: str) -> Participant:
    """The one participant found. Raises CommandError, in words, for none and for several."""
    if not people:
        raise CommandError(f"There is no participant named {name}.")
    if len(people) > 1:
        listed = ", ".join(f"number {person.pk} at {person.site.slug}" for person in people)
        raise CommandError(
            f"There are {len(people)} participants named {name}: {listed}. Say which one with --site or --number."
        )
    return people[0]


def _document(person: Participant, stories: list[Story]) -> str:
    facts = {
        "participant": {
            "id": person.pk,
            "name": person.name,
            "site": person.site.slug,
            "is_active": person.is_active,
        },
        "read_at": timezone.now().isoformat(),
        "turns": [formatting.document(story) for story in stories],
    }
    # Escaped, so that no separator or override in what somebody wrote breaks a line or a terminal.
    return json.dumps(facts, indent=1)


def _text(person: Participant, stories: list[Story]) -> str:
    count = f"{len(stories)} turn{'' if len(stories) == 1 else 's'}"
    heading = f"{escape_controls(person.name)}, {person.site.name} ({person.site.slug}): {count}"
    return "\n\n".join([heading, *(formatting.text(story) for story in stories)])
