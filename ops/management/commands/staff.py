"""`manage.py staff list|add|supervises|no-longer|operator|supervisor|withdraw|restore|password`: who may see whom."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from ops import names
from ops.changes import Done
from ops.people import staff
from ops.people.command import PeopleCommand, needs_by

PARTS = {
    "add": "somebody new; their password is the last line, once",
    "supervises": "they see the people of a site from now on",
    "no-longer": "they see the people of a site no more",
    "operator": "they see all sites, and move traffic",
    "supervisor": "they see only the sites that they supervise",
    "withdraw": "they are signed out everywhere and can sign in no more",
    "restore": "they can sign in again; their new password is the last line, once",
    "password": "a new password, the last line, once; they are signed out everywhere",
}


class Command(PeopleCommand):
    help = (
        "Adds and withdraws staff while all runs, and says whose turns they may see. Each change is on record. "
        "Exit code 0: it stands as was asked for; 1: nothing was changed; 2: the arguments make no sense."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="do", required=True, metavar=f"list|{'|'.join(PARTS)}")
        parts.add_parser("list", help="everybody who is staff or was")
        made = {do: parts.add_parser(do, help=what) for do, what in PARTS.items()}
        for do, part in made.items():
            part.add_argument("username", help="what they sign in with")
            if do in {"supervises", "no-longer"}:
                part.add_argument("site", metavar="SITE", help="its short name, such as willow-house")
            needs_by(part)
        made["add"].add_argument("--name", required=True, help="what colleagues call them")
        made["add"].add_argument(
            "--supervises", action="append", default=[], metavar="SITE", help="once for each site"
        )
        made["add"].add_argument(
            "--operator", action="store_true", help="they see all sites, and move traffic"
        )

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        if do == "list":
            self.stdout.write("\n".join(staff.listed()) or "There are no staff.")
            return
        username = options["username"]
        changes: dict[str, Callable[[str], Done]] = {
            "add": lambda by: staff.added(
                username, options["name"], sites=options["supervises"], operator=options["operator"], by=by
            ),
            "supervises": lambda by: staff.supervises(username, options["site"], by=by),
            "no-longer": lambda by: staff.no_longer_supervises(username, options["site"], by=by),
            "operator": lambda by: staff.made(username, operator=True, by=by),
            "supervisor": lambda by: staff.made(username, operator=False, by=by),
            "withdraw": lambda by: staff.withdrawn(username, by=by),
            "restore": lambda by: staff.restored(username, by=by),
            "password": lambda by: staff.given_password(username, by=by),
        }
        self.tell(lambda: changes[do](names.who(options["by"])))
