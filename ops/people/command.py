"""What the three commands about people share: who decides it, one sentence, and an exit code."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from companion.cards import Card
from ops.changes import Done, Refused

Typed = TypeVar("Typed", str, str | None)


def _nothing(card: Card) -> Sequence[str]:
    return ()


class PeopleCommand(BaseCommand):
    """Exit code 0: it stands as was asked for; 1: nothing was changed; 2: the arguments make no sense."""

    # People must be let in, and kept out, while the persona file is being mended.
    requires_system_checks = ()

    def tell(self, ask: Callable[[], Done], *, shown: Callable[[Card], Sequence[str]] = _nothing) -> None:
        """Ask for it and say what came of it; a password or a card comes last, on lines alone. Raises CommandError."""
        try:
            done = ask()
        except Refused as refusal:
            raise CommandError(f"Nothing was changed. {refusal}") from None
        except OperationalError:
            raise CommandError("Nothing was changed: the database does not answer.") from None
        if done.sentence:
            self.stdout.write(done.sentence)
        if done.secret:
            self.stdout.write(done.secret)
        for line in shown(done.card) if done.card else ():
            self.stdout.write(line)


def read(reader: Callable[[Typed], str], typed: Typed) -> str:
    """What was typed, as `names` reads it. Raises CommandError, in words, before the database could."""
    try:
        return reader(typed)
    except Refused as refusal:
        raise CommandError(f"Nothing was done. {refusal}") from None


def needs_by(part: ArgumentParser) -> None:
    """Every change is somebody's."""
    part.add_argument("--by", required=True, metavar="WHO", help="who decides it; it stays on record")
