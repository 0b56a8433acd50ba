"""`manage.py audit`: searches the audit record. The search itself is on record."""

import json
from argparse import ArgumentParser
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from companion.frames import clean_text
from ops import audit
from ops.people.command import PeopleCommand, find_person
from ops.supervision.record_search import MAX_ENTRIES, RecordEntry, RecordQuery, search_record
from ops.text import escape_controls, format_time


class Command(PeopleCommand):
    help = (
        "Searches the audit record: who did what, when, and about which participant. Newest first. The search is on "
        "record. Exit code 0: searched; 1: no such participant; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--person", metavar="NAME", help="entries about this participant")
        parser.add_argument("--site", metavar="SITE", help="with --person: the participant's site")
        parser.add_argument(
            "--number",
            type=int,
            metavar="N",
            help="entries about the participant with this number, erased ones too",
        )
        parser.add_argument("--who", default="", metavar="ACCOUNT", help="entries of this account")
        parser.add_argument("--what", default="", metavar="ACT", help="such as accepted_flag or read_along")
        parser.add_argument(
            "--since", metavar="WHEN", help="a day such as 2027-03-31, or 90m, 12h or 7d before now"
        )
        parser.add_argument("--before", type=int, metavar="ID", help="continue before this entry")
        parser.add_argument("--limit", type=int, default=100, metavar="N", help=f"at most {MAX_ENTRIES}")
        parser.add_argument("--json", action="store_true", help="one document, for programs")

    def handle(self, *args: Any, person: str | None, number: int | None, **options: Any) -> None:
        about = number
        if person is not None:
            about = find_person(person, site=options["site"], number=number).pk
        since = _parse_since(options["since"])
        # A terminal passes on bytes that are no text as lone surrogates, which no query can hold.
        who, what = clean_text(options["who"]), clean_text(options["what"])
        note = audit.join_note(
            f"about {about}" if about is not None else "",
            "by who" if who else "",
            f"what {what}"[:40] if what else "",
        )
        # Before the search, so that a search that is shown is on record.
        if problem := audit.record_command(audit.SEARCHED_RECORD, note):
            raise CommandError(f"Nothing is shown. {problem}")
        query = RecordQuery(
            people=None if about is None else (about,),
            who=who,
            what=what,
            since=since,
            before=options["before"],
        )
        entries = search_record(query, size=max(1, options["limit"])).entries
        if options["json"]:
            self.stdout.write(json.dumps({"entries": [_document(entry) for entry in entries]}))
        else:
            self.stdout.write("\n".join(map(_format, entries)) or "The record has no such entry.")


def _parse_since(typed: str | None) -> datetime | None:
    if typed is None:
        return None
    units = {"m": "minutes", "h": "hours", "d": "days"}
    try:
        if typed[-1:] in units and typed[:-1].isdigit():
            return timezone.now() - timedelta(**{units[typed[-1]]: int(typed[:-1])})
        since = datetime.fromisoformat(typed)
        return since if since.tzinfo else since.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise CommandError(
            "--since takes a day such as 2027-03-31, or 90m, 12h or 7d.", returncode=2
        ) from None


def _document(entry: RecordEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "at": entry.at.isoformat(),
        "who": entry.who,
        "what": entry.what,
        "about": entry.about,
        "note": entry.note,
    }


def _format(entry: RecordEntry) -> str:
    about = f"  participant {entry.about}" if entry.about is not None else ""
    note = f"  ({escape_controls(entry.note)})" if entry.note else ""
    return f"{entry.id:>8}  {format_time(entry.at)}  {escape_controls(entry.who)}  {entry.what}{about}{note}"
