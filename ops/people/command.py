"""The base of the commands about people: `--by`, one sentence, and an exit code."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from companion.cards import Card
from companion.models import Participant
from ops import names
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup

Typed = TypeVar("Typed", str, str | None)


def _print_nothing(card: Card) -> Sequence[str]:
    return ()


class PeopleCommand(BaseCommand):
    """Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."""

    # Cards and staff must be manageable while the persona file is invalid.
    requires_system_checks = ()

    def report(
        self,
        change: Callable[[], ChangeResult],
        *,
        format_card: Callable[[Card], Sequence[str]] = _print_nothing,
    ) -> None:
        """Make the change and print its sentence, then a password or card on lines alone. Raises CommandError."""
        try:
            result = change()
        except ChangeRefused as refusal:
            raise CommandError(f"Nothing was changed. {refusal}") from None
        except OperationalError:
            raise CommandError("Nothing was changed: the database does not answer.") from None
        if result.sentence:
            self.stdout.write(result.sentence)
        if result.secret:
            self.stdout.write(result.secret)
        for line in format_card(result.card) if result.card else ():
            self.stdout.write(line)


def parse(clean: Callable[[Typed], str], typed: Typed) -> str:
    """The typed text, cleaned by a function of `names`. Raises CommandError with its sentence."""
    try:
        return clean(typed)
    except ChangeRefused as refusal:
        raise CommandError(f"Nothing was changed. {refusal}") from None


def add_by_argument(part: ArgumentParser) -> None:
    part.add_argument("--by", required=True, metavar="WHO", help="who decides it; it stays on record")


def add_person_arguments(parser: ArgumentParser) -> None:
    """Add what names one participant: the name, and the site or the number where several share it."""
    parser.add_argument("name", help="the participant's name, as staff know it")
    parser.add_argument("--site", metavar="SLUG", help="where there are several of that name")
    parser.add_argument(
        "--number", type=int, help="the participant's number, where even the site is the same"
    )


def find_person(name: str, *, site: str | None, number: int | None) -> Participant:
    """The only participant that the arguments name. Raises CommandError."""
    parse(names.clean_name, name)
    if site is not None:
        parse(partial(names.clean_name, whose="What --site names"), site)
    try:
        return lookup.choose_participant(lookup.find_participants(name, site=site, number=number), name)
    except ChangeRefused as refusal:
        raise CommandError(str(refusal)) from None
    except OperationalError:
        raise CommandError("Nothing was changed: the database does not answer.") from None
