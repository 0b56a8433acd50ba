"""`manage.py disclosures --year`: how often people were shown that they talk to a computer program, by site."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.utils.timezone import localdate

from ops.people.command import PeopleCommand
from ops.people.disclosures import SUPPRESSED_BELOW, count_disclosures
from ops.text import escape_controls

YEAR_DIGITS = 4


class Command(PeopleCommand):
    help = (
        "Counts by site how often people were shown in a calendar year (UTC) that they talk to a computer program. "
        f"Numbers below {SUPPRESSED_BELOW} are not told, because they could be about one person."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--year", type=_parse_year, metavar="YYYY", help="this year, if none is given")
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        year = options["year"] or localdate().year
        sites = count_disclosures(year)
        if options["json"]:
            document = {"year": year, "suppressed_below": SUPPRESSED_BELOW, "sites": [*map(asdict, sites)]}
            self.stdout.write(json.dumps(document))
            return
        for one in sites:
            showings = f"fewer than {SUPPRESSED_BELOW}" if one.showings is None else one.showings
            self.stdout.write(f"{one.site}  {escape_controls(one.name)}  {year}  {showings}")
        if not sites:
            self.stdout.write("There are no sites.")


def _parse_year(typed: str) -> int:
    if not (typed.isascii() and typed.isdigit() and len(typed) == YEAR_DIGITS):
        raise ValueError
    return int(typed)
