"""`manage.py site list|add|rename|open|close|regions|helpline|rules|group`: the sites that people belong to."""

from argparse import ArgumentParser
from collections.abc import Callable
from datetime import date
from typing import Any

from django.core.management.base import CommandError

from ops import names
from ops.changes import ChangeResult
from ops.people import site_groups, sites
from ops.people.command import PeopleCommand, add_by_argument
from ops.people.helplines import HelplineChange, set_helpline
from ops.people.site_rules import SITE_RULES, set_rules
from ops.project.wiring.routing import build_routing
from routing.errors import RoutingFileInvalid


class Command(PeopleCommand):
    help = (
        "Adds, renames, opens and closes sites without a restart, and sets their helpline, their rules and the "
        "regions their people's words may go to. Every change is recorded. "
        "Exit code 0: done, or was so before; 1: nothing was changed; 2: invalid arguments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(
            dest="do", required=True, metavar="list|add|rename|open|close|regions|helpline|rules|group"
        )
        parts.add_parser("list", help="every site")
        for do, what in (
            ("add", "a new site, closed until it has a helpline"),
            ("rename", "another name for people; the short name stays"),
            ("open", "its cards work; refused without a helpline"),
            ("close", "every visit there ends, and its cards lead to the closed page"),
            ("regions", "the only regions its people's words may go to; none named: any"),
            ("helpline", "the numbers that its safety lines name; what is not given stays"),
            ("rules", "; ".join(f"{rule.field}: {rule.meaning}" for rule in SITE_RULES)),
        ):
            part = parts.add_parser(do, help=what)
            part.add_argument("slug", metavar="SITE", help="its short name, such as willow-house")
            if do in {"add", "rename"}:
                part.add_argument("name", help="its name, as people know it")
            if do == "regions":
                part.add_argument("regions", nargs="*", metavar="REGION", help="as the lanes name them")
            if do == "helpline":
                _add_helpline_arguments(part)
            if do == "rules":
                part.add_argument(
                    "rules",
                    nargs="*",
                    metavar="NAME=VALUE",
                    help="such as disclosure_s=7200; none: show them",
                )
            add_by_argument(part)
        _add_group_parts(parts.add_parser("group", help="groups of sites that are supervised together"))

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        if do == "list":
            self.stdout.write("\n".join(sites.list_sites()) or "There are no sites.")
            return
        if do == "group":
            self._change_group(options)
            return
        slug = options["slug"]
        changes: dict[str, Callable[[str], ChangeResult]] = {
            "add": lambda by: sites.add_site(slug, options["name"], by=by),
            "rename": lambda by: sites.rename_site(slug, options["name"], by=by),
            "open": lambda by: sites.open_site(slug, by=by),
            "close": lambda by: sites.close_site(slug, by=by),
            "regions": lambda by: sites.set_regions(slug, options["regions"], known=_regions(), by=by),
            "helpline": lambda by: set_helpline(slug, _helpline(options), by=by),
            "rules": lambda by: set_rules(slug, options["rules"], by=by),
        }
        self.report(lambda: changes[do](names.clean_by(options["by"])))

    def _change_group(self, options: dict[str, Any]) -> None:
        if options["act"] == "list":
            self.stdout.write("\n".join(site_groups.list_groups()) or "There are no groups.")
            return
        group = options["group"]
        changes: dict[str, Callable[[str], ChangeResult]] = {
            "add": lambda by: site_groups.add_group(group, options["name"], by=by),
            "include": lambda by: site_groups.include_site(group, options["slug"], by=by),
            "exclude": lambda by: site_groups.exclude_site(group, options["slug"], by=by),
            "remove": lambda by: site_groups.remove_group(group, by=by),
        }
        self.report(lambda: changes[options["act"]](names.clean_by(options["by"])))


def _add_group_parts(group: ArgumentParser) -> None:
    acts = group.add_subparsers(dest="act", required=True, metavar="list|add|include|exclude|remove")
    acts.add_parser("list", help="every group, with its sites")
    for act, what in (
        ("add", "a new group, without sites"),
        ("include", "a site joins it: the group's staff supervise it from now on"),
        ("exclude", "a site leaves it: the group's staff supervise it no longer"),
        ("remove", "its sites stay; refused while a member of staff has it"),
    ):
        part = acts.add_parser(act, help=what)
        part.add_argument("group", metavar="GROUP", help="its short name, such as north")
        if act == "add":
            part.add_argument("name", help="its name, as people know it")
        if act in {"include", "exclude"}:
            part.add_argument("slug", metavar="SITE", help="its short name, such as willow-house")
        add_by_argument(part)


def _add_helpline_arguments(part: ArgumentParser) -> None:
    part.add_argument("--voice", metavar="NUMBER", help="the number to call")
    part.add_argument("--text", metavar="NUMBER", help="the number to text")
    part.add_argument("--owner", metavar="NAME", help="who answers for the numbers")
    part.add_argument(
        "--review-by", metavar="YYYY-MM-DD", type=date.fromisoformat, help="when they are looked at again"
    )


def _helpline(options: dict[str, Any]) -> HelplineChange:
    return HelplineChange(
        voice=options["voice"], text=options["text"], owner=options["owner"], review_by=options["review_by"]
    )


def _regions() -> frozenset[str]:
    try:
        return frozenset(lane.region for lane in build_routing().lanes.values())
    except RoutingFileInvalid as refusal:
        raise CommandError(f"Nothing was changed. The service cannot run like this. {refusal}") from None
