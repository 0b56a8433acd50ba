"""`manage.py machine list|add|withdraw`: the shared machines of sites."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from ops import audit, names
from ops.changes import ChangeResult
from ops.people import machines
from ops.people.command import PeopleCommand, add_by_argument


class Command(PeopleCommand):
    help = (
        "Lists, adds and withdraws the shared machines of sites, without a restart. Every change is recorded. "
        "Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="do", required=True, metavar="list|add|withdraw")
        parts.add_parser("list", help="every machine that is in use")
        for do, what in (
            (
                "add",
                "a new machine, or one that has to be paired again. With --code, the code that its screen shows; "
                "without, the last line is a code that is typed there within ten minutes",
            ),
            ("withdraw", "it opens no visit any more, its visit ends, and its screen says so"),
        ):
            part = parts.add_parser(do, help=what)
            part.add_argument("site", metavar="SITE", help="its short name, such as willow-house")
            part.add_argument("name", help="what staff call the machine, such as “Front room”")
            if do == "add":
                part.add_argument("--code", help="the code that the machine's screen shows at /machine/")
            add_by_argument(part)

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        if do == "list":
            self.stdout.write("\n".join(machines.list_machines()) or "There are no machines.")
            return
        site, name = options["site"], options["name"]
        changes: dict[str, Callable[[str], ChangeResult]] = {
            "add": lambda by: machines.add_machine(site, name, code=options["code"], by=by),
            "withdraw": lambda by: _withdraw(site, name, by=by),
        }
        self.report(lambda: changes[do](names.clean_by(options["by"])))


def _withdraw(site: str, name: str, *, by: str) -> ChangeResult:
    machine = machines.find_machine(site, name)
    return machines.withdraw_machine(
        machine.pk, sites={machine.site_id}, by=by, note=audit.format_command_note()
    )
