"""`manage.py site list|add|rename|open|close|regions`: the houses that people come to."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from ops import names
from ops.changes import Done
from ops.people import sites
from ops.people.command import PeopleCommand, needs_by


class Command(PeopleCommand):
    help = (
        "Adds, renames, opens and closes sites while all runs, and says which regions their people's words may go to. "
        "Each change is on record. "
        "Exit code 0: it stands as was asked for; 1: nothing was changed; 2: the arguments make no sense."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="do", required=True, metavar="list|add|rename|open|close|regions")
        parts.add_parser("list", help="every site")
        for do, what in (
            ("add", "a new site, open"),
            ("rename", "another name for people; the short name stays"),
            ("open", "its cards work"),
            ("close", "every visit there ends, and its cards lead to the closed page"),
            ("regions", "the only regions its people's words may go to; none named: any"),
        ):
            part = parts.add_parser(do, help=what)
            part.add_argument("slug", metavar="SITE", help="its short name, such as willow-house")
            if do in {"add", "rename"}:
                part.add_argument("name", help="its name, as people know it")
            if do == "regions":
                part.add_argument("regions", nargs="*", metavar="REGION", help="as the lanes name them")
            needs_by(part)

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        if do == "list":
            self.stdout.write("\n".join(sites.listed()) or "There are no sites.")
            return
        slug = options["slug"]
        changes: dict[str, Callable[[str], Done]] = {
            "add": lambda by: sites.added(slug, options["name"], by=by),
            "rename": lambda by: sites.renamed(slug, options["name"], by=by),
            "open": lambda by: sites.opened(slug, by=by),
            "close": lambda by: sites.closed(slug, by=by),
            "regions": lambda by: sites.confined(slug, options["regions"], known=_regions(), by=by),
        }
        self.tell(lambda: changes[do](names.who(options["by"])))


def _regions() -> frozenset[str]:
    # Wiring reads the routing file, so it is asked late.
    from ops.project import wiring
    from routing.errors import RoutingFileInvalid

    try:
        return frozenset(lane.region for lane in wiring.build_routing().lanes.values())
    except RoutingFileInvalid as refusal:
        raise CommandError(f"Nothing was changed. The service cannot run like this. {refusal}") from None
