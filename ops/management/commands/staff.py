"""`manage.py staff`: the staff, what they supervise, and how they sign in. `PARTS` names what it does."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from ops import names
from ops.changes import ChangeResult
from ops.people import staff
from ops.people.command import PeopleCommand, add_by_argument

PARTS = {
    "add": "a new member of staff; the password is the last line, shown once",
    "supervises": "let them see the people of a site",
    "no-longer": "stop them seeing the people of a site",
    "supervises-group": "let them see the people of each site of a group, also of those that join it later",
    "no-longer-group": "stop them seeing the people of a group's sites",
    "operator": "they see all sites, and move traffic",
    "supervisor": "they see only the sites that they supervise",
    "email": "the address to which flags of their sites ring; without one: no e-mail",
    "withdraw": "sign them out everywhere and for good",
    "restore": "let them sign in again; the new password is the last line, shown once",
    "password": "sign them out everywhere; the new password is the last line, shown once",
    "forget-app": "for a lost phone: forget the app, sign them out everywhere; the new password is the last line",
}


class Command(PeopleCommand):
    help = (
        "Adds and withdraws staff without a restart, and sets whose turns they may see. Every change is recorded. "
        "Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="do", required=True, metavar=f"list|{'|'.join(PARTS)}")
        parts.add_parser("list", help="every present and former member of staff")
        made = {do: parts.add_parser(do, help=what) for do, what in PARTS.items()}
        for do, part in made.items():
            part.add_argument("username", help="what they sign in with")
            if do in {"supervises", "no-longer"}:
                part.add_argument("site", metavar="SITE", help="its short name, such as willow-house")
            if do in {"supervises-group", "no-longer-group"}:
                part.add_argument("group", metavar="GROUP", help="its short name, such as north")
            add_by_argument(part)
        made["email"].add_argument("address", nargs="?", default="", help="such as sam@example.org")
        made["add"].add_argument("--name", required=True, help="what colleagues call them")
        made["add"].add_argument(
            "--supervises", action="append", default=[], metavar="SITE", help="once for each site"
        )
        made["add"].add_argument(
            "--supervises-group", action="append", default=[], metavar="GROUP", help="once for each group"
        )
        made["add"].add_argument(
            "--operator", action="store_true", help="they see all sites, and move traffic"
        )

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        if do == "list":
            self.stdout.write("\n".join(staff.list_staff()) or "There are no staff.")
            return
        username = options["username"]
        changes: dict[str, Callable[[str], ChangeResult]] = {
            "add": lambda by: staff.add_staff(
                username,
                options["name"],
                sites=options["supervises"],
                groups=options["supervises_group"],
                operator=options["operator"],
                by=by,
            ),
            "supervises": lambda by: staff.add_supervision(username, options["site"], by=by),
            "no-longer": lambda by: staff.remove_supervision(username, options["site"], by=by),
            "supervises-group": lambda by: staff.add_group_supervision(username, options["group"], by=by),
            "no-longer-group": lambda by: staff.remove_group_supervision(username, options["group"], by=by),
            "operator": lambda by: staff.set_role(username, operator=True, by=by),
            "supervisor": lambda by: staff.set_role(username, operator=False, by=by),
            "email": lambda by: staff.set_email(username, options["address"], by=by),
            "withdraw": lambda by: staff.withdraw_staff(username, by=by),
            "restore": lambda by: staff.restore_staff(username, by=by),
            "password": lambda by: staff.reset_password(username, by=by),
            "forget-app": lambda by: staff.forget_second_factor(username, by=by),
        }
        self.report(lambda: changes[do](names.clean_by(options["by"])))
