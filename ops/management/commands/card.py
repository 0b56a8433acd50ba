"""`manage.py card NAME [--create|--renew|--withdraw|--restore]`: a participant's card; its link is the last line.

`manage.py card NAME … --sheet FILE.html`: a page of cards to print.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import OperationalError

from companion.cards import Card
from ops import audit, names
from ops.changes import ChangeRefused, ChangeResult, ParticipantNotFound
from ops.people import cards
from ops.people.card_sheets import MAX_CARDS, build_link, make_sheet, render_sheet
from ops.people.cards import ParticipantQuery
from ops.people.command import PeopleCommand, find_person
from ops.stack.state import write_private

CHANGES = {"renew": cards.renew_card, "withdraw": cards.withdraw_card, "restore": cards.restore_card}


class Command(PeopleCommand):
    help = (
        "Prints a participant's card: its pictures, its code and, last, its link. "
        "--create adds the participant first if there is none. "
        "--sheet FILE.html writes a page to print, with QR codes, for one or several names. "
        "--renew makes a new card, and the old one stops working; --withdraw makes every card of theirs "
        "useless; --restore lets them come back with a new one. Every change is recorded and needs no restart. "
        "Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "name", nargs="+", help="the participant's name, as staff know it; several with --sheet"
        )
        parser.add_argument(
            "--sheet",
            type=Path,
            metavar="FILE.html",
            help=f"write a page to print with a card for each name, at most {MAX_CARDS}; only you can read the file",
        )
        wanted = parser.add_mutually_exclusive_group()
        for flag, what in (
            ("create", "add the participant if there is none"),
            ("renew", "make a new card: the old one is lost. Needs --by"),
            ("withdraw", "this person's card stops working. Needs --by"),
            ("restore", "this person comes back, with a new card. Needs --by"),
        ):
            wanted.add_argument(f"--{flag}", dest="wanted", action="store_const", const=flag, help=what)
        parser.add_argument("--site", metavar="SLUG", help="needed only where there are several sites")
        parser.add_argument(
            "--number", type=int, help="the participant's number, where even the site is the same"
        )
        parser.add_argument(
            "--by", metavar="WHO", help="who decides it; the record names this account as well"
        )

    def handle(
        self,
        *args: Any,
        name: list[str],
        wanted: str | None,
        site: str | None,
        number: int | None,
        by: str | None,
        sheet: Path | None,
        **options: Any,
    ) -> None:
        if sheet is not None:
            if wanted:
                raise CommandError("--sheet prints cards as they are. Make the change first.", returncode=2)
            self._write_sheet(name, sheet, site=site, number=number, by=by)
            return
        if len(name) > 1:
            raise CommandError(
                "Name one participant, in quotation marks where the name has spaces. --sheet takes several.",
                returncode=2,
            )
        query = ParticipantQuery(name=name[0], site=site, number=number)
        self.report(lambda: _change(query, wanted, by), format_card=format_card)

    def _write_sheet(
        self, named: list[str], sheet: Path, *, site: str | None, number: int | None, by: str | None
    ) -> None:
        people = {
            person.pk: person
            for person in (find_person(one, site=site, number=number) for one in dict.fromkeys(named))
        }
        who = audit.get_account() if by is None else names.clean_by(by)
        try:
            cards_to_print = make_sheet(people.values(), by=who, note=audit.format_command_note())
            write_private(sheet, render_sheet(cards_to_print, is_file=True))
        except ChangeRefused as refusal:
            raise CommandError(f"Nothing was written. {refusal}") from None
        except OperationalError:
            raise CommandError("Nothing was written: the database does not answer.") from None
        except OSError as failure:
            raise CommandError(f"{sheet} cannot be written: {failure.strerror}.") from None
        self.stdout.write(
            f"{sheet} has {len(cards_to_print)} cards. Print it from a browser, then delete it: it opens every one."
        )


def format_card(card: Card) -> list[str]:
    """What stands on a printed card, the link last."""
    first, second = card.pictures
    return [f"Pictures to press: {first}, then {second}", f"Code to type: {card.code}", build_link(card)]


def _change(query: ParticipantQuery, wanted: str | None, by: str | None) -> ChangeResult:
    if wanted in CHANGES:
        return CHANGES[wanted](query, by=names.clean_by(by))
    who = audit.get_account() if by is None else names.clean_by(by)
    if wanted == "create":
        return cards.enrol_participant(query, by=who)
    try:
        return cards.print_card(query, by=who)
    except ParticipantNotFound as refusal:
        raise ChangeRefused(f"{refusal} Add --create to add them.") from None
