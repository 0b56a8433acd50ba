"""The base of the commands about people: `--by`, one sentence, and an exit code."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from companion.cards import Card
from ops.changes import ChangeRefused, ChangeResult

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
    """Add the required `--by`."""
    part.add_argument("--by", required=True, metavar="WHO", help="who decides it; it stays on record")
