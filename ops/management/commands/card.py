"""`manage.py card NAME [--create|--renew|--withdraw|--restore]`: a participant's card; its link is the last line."""

from argparse import ArgumentParser
from typing import Any

from django.urls import reverse

from companion.cards import Card
from ops import audit, names
from ops.changes import Done, NobodyNamed, Refused
from ops.people import cards
from ops.people.cards import Meant, first_origin
from ops.people.command import PeopleCommand

CHANGES = {"renew": cards.renewed, "withdraw": cards.withdrawn, "restore": cards.restored}


class Command(PeopleCommand):
    help = (
        "Prints a participant's card: its pictures, its code and, last, its link. "
        "--create adds the participant first if there is none. "
        "--renew makes a new card, and the old one opens nothing any more; --withdraw makes every card of theirs "
        "useless; --restore lets them come back with a new one. All of it is on record, and works while all runs. "
        "Exit code 0: it stands as was asked for; 1: nothing was changed; 2: the arguments make no sense."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the participant's name, as staff know it")
        wanted = parser.add_mutually_exclusive_group()
        for flag, what in (
            ("create", "add the participant if there is none"),
            ("renew", "make a new card: the old one is lost. Needs --by"),
            ("withdraw", "this person is to come in no more. Needs --by"),
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
        name: str,
        wanted: str | None,
        site: str | None,
        number: int | None,
        by: str | None,
        **options: Any,
    ) -> None:
        meant = Meant(name=name, site=site, number=number)
        self.tell(lambda: _done(meant, wanted, by), shown=on_paper)


def on_paper(card: Card) -> list[str]:
    """What stands on a printed card, the link last."""
    first, second = card.pictures
    return [f"Pictures to press: {first}, then {second}", f"Code to type: {card.code}", link_of(card)]


def link_of(card: Card) -> str:
    """A browser sends no fragment, so opening the link tells the service nothing."""
    return f"{first_origin()}{reverse('card')}#{card.link}"


def _done(meant: Meant, wanted: str | None, by: str | None) -> Done:
    if wanted in CHANGES:
        return CHANGES[wanted](meant, by=names.who(by))
    who = audit.this_account() if by is None else names.who(by)
    if wanted == "create":
        return cards.added(meant, by=who)
    try:
        return cards.printed(meant, by=who)
    except NobodyNamed as refusal:
        raise Refused(f"{refusal} Add --create to add them.") from None
