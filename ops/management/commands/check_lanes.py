"""`manage.py check_lanes`: whether the lanes of a chain are interchangeable, side by side."""

import asyncio
import json
import math
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from companion.turn_policy import TurnPolicy
from ops.lane_checks.asking import manner_of
from ops.lane_checks.contract import Compared, check
from ops.lane_checks.formatting import check_document, check_text
from ops.lane_checks.results import is_fresh, keep, keep_check
from ops.management.commands.fallback_drill import CANNOT, built, need_keys
from routing.adapters import build_adapters
from routing.adapters.transport import build_client
from routing.chain import Caller
from routing.contracts import Lane
from routing.lanes import NORMAL, Routing


class Command(BaseCommand):
    help = (
        "Asks every lane the same questions and compares: does it answer and stream, how soon, how long, in which "
        "language, as plain text, within the character's boundaries, to which end, and how does it decline. Needs the "
        "keys of the lanes in its environment. "
        "Exit code 0: interchangeable; 1: there is a difference that matters; 2: it could not be checked."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--preset", default=NORMAL, help="whose chain is checked (default: normal)")
        chosen.add_argument("--all", action="store_true", help="every lane there is")
        parser.add_argument(
            "--if-due", action="store_true", help="only if the last was a day ago, or of another routing file"
        )
        parser.add_argument(
            "--at-most", type=float, default=math.inf, metavar="SECONDS", help="leave out what takes longer"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        policy, routing = built()
        if options["if_due"] and (routing.is_rehearsed or is_fresh(routing.file_hash, datetime.now(UTC))):
            return
        lanes = _lanes(routing, None if options["all"] else options["preset"])
        need_keys(lanes)
        # Programs read the standard output, so that people see the lines on the other.
        out = self.stderr if options["json"] else self.stdout

        def tell(line: str) -> None:
            out.write(line)
            out.flush()

        found = asyncio.run(_compared(policy, lanes, tell, at_most_s=options["at_most"]))
        keep(found.answers)
        preset = "" if options["all"] else options["preset"]
        keep_check(found, preset=preset, routing_hash=routing.file_hash)
        self.stdout.write(json.dumps(check_document(found)) if options["json"] else check_text(found))
        if not found.is_interchangeable:
            raise CommandError("Who is moved from one of these lanes to another would notice.")


def _lanes(routing: Routing, preset: str | None) -> tuple[Lane, ...]:
    if preset is None:
        return tuple(routing.lanes.values())
    if preset not in routing.presets:
        known = ", ".join(routing.presets)
        raise CommandError(f"There is no preset {preset!r}. Name one of: {known}.", returncode=CANNOT)
    return tuple(routing.lanes[name] for name in routing.presets[preset].chain)


async def _compared(
    policy: TurnPolicy, lanes: tuple[Lane, ...], tell: Callable[[str], None], *, at_most_s: float
) -> Compared:
    async with build_client() as client:
        manner = manner_of(policy, now=lambda: datetime.now(UTC))
        return await check(
            lanes, Caller(build_adapters(client)), manner=manner, at_most_s=at_most_s, tell=tell
        )
