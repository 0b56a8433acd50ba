"""`manage.py card NAME [--create|--renew|--withdraw|--restore]`: a participant's card; its link is the last line."""

from argparse import ArgumentParser
from typing import Any

from django.urls import reverse

from companion.cards import Card
from ops import audit, names
from ops.changes import ChangeRefused, ChangeResult, ParticipantNotFound
from ops.people import cards
from ops.people.cards import ParticipantQuery, get_public_url
from ops.people.command import PeopleCommand

CHANGES = {"renew": cards.renew_card, "withdraw": cards.withdraw_card, "restore": cards.restore_card}


class Command(PeopleCommand):
    help = (
        "Prints a participant's card: its pictures, its code and, last, its link. "
        "--create adds the participant first if there is none. "
        "--renew makes a new card, and the old one stops working; --withdraw makes every card of theirs "
        "useless; --restore lets them come back with a new one. Every change is recorded and needs no restart. "
        "Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the participant's name, as staff know it")
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
        name: str,
        wanted: str | None,
        site: str | None,
        number: int | None,
        by: str | None,
        **options: Any,
    ) -> None:
        query = ParticipantQuery(name=name, site=site, number=number)
        self.report(lambda: _change(query, wanted, by), format_card=format_card)


def format_card(card: Card) -> list[str]:
    """What stands on a printed card, the link last."""
    first, second = card.pictures
    return [f"Pictures to press: {first}, then {second}", f"Code to type: {card.code}", build_link(card)]


def build_link(card: Card) -> str:
    """A browser sends no fragment, so opening the link tells the service nothing."""
    return f"{get_public_url()}{reverse('card')}#{card.link}"


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
