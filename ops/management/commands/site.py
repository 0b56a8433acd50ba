"""`manage.py site list|add|rename|open|close|regions`: the sites that people belong to."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from ops import names
from ops.changes import ChangeResult
from ops.people import sites
from ops.people.command import PeopleCommand, add_by_argument


class Command(PeopleCommand):
    help = (
        "Adds, renames, opens and closes sites without a restart, and sets the regions their people's words may go to. "
        "Every change is recorded. "
        "Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."
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
            add_by_argument(part)

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        if do == "list":
            self.stdout.write("\n".join(sites.list_sites()) or "There are no sites.")
            return
        slug = options["slug"]
        changes: dict[str, Callable[[str], ChangeResult]] = {
            "add": lambda by: sites.add_site(slug, options["name"], by=by),
            "rename": lambda by: sites.rename_site(slug, options["name"], by=by),
            "open": lambda by: sites.open_site(slug, by=by),
            "close": lambda by: sites.close_site(slug, by=by),
            "regions": lambda by: sites.set_regions(slug, options["regions"], known=_regions(), by=by),
        }
        self.report(lambda: changes[do](names.clean_by(options["by"])))


def _regions() -> frozenset[str]:
    # Imported late: wiring reads the routing file.
    from ops.project import wiring
    from routing.errors import RoutingFileInvalid

    try:
        return frozenset(lane.region for lane in wiring.build_routing().lanes.values())
    except RoutingFileInvalid as refusal:
        raise CommandError(f"Nothing was changed. The service cannot run like this. {refusal}") from None
