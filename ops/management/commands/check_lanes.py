"""`manage.py check_lanes`: compares the lanes of a chain, to find out whether they are interchangeable."""

import asyncio
import json
import math
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from companion.turn_policy import TurnPolicy
from ops.lane_checks.contract import ContractReport, check_contract
from ops.lane_checks.formatting import check_document, format_check
from ops.lane_checks.lane_call import ask_policy
from ops.lane_checks.results import is_fresh, store_answers, store_check
from ops.management.commands.fallback_drill import CANNOT_RUN, build_policy_and_routing, require_keys
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
        "Exit code 0: interchangeable; 1: there is a difference that matters; 2: it could not run."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--preset", default=NORMAL, help="whose chain is checked (default: normal)")
        chosen.add_argument("--all", action="store_true", help="every lane there is")
        parser.add_argument(
            "--if-due",
            action="store_true",
            help="only if the last check is a day old, or of another routing file",
        )
        parser.add_argument(
            "--at-most",
            type=float,
            default=math.inf,
            metavar="SECONDS",
            help="leave out what may take longer",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        turn_policy, routing = build_policy_and_routing()
        if options["if_due"] and (routing.is_rehearsed or is_fresh(routing.file_hash, datetime.now(UTC))):
            return
        lanes = _select_lanes(routing, None if options["all"] else options["preset"])
        require_keys(lanes)
        # Standard output is for programs then; people see the lines on standard error.
        out = self.stderr if options["json"] else self.stdout

        def write_line(line: str) -> None:
            out.write(line)
            out.flush()

        report = asyncio.run(_check(turn_policy, lanes, write_line, limit_s=options["at_most"]))
        store_answers(report.answers)
        preset = "" if options["all"] else options["preset"]
        store_check(report, preset=preset, routing_hash=routing.file_hash)
        self.stdout.write(json.dumps(check_document(report)) if options["json"] else format_check(report))
        if not report.is_interchangeable:
            raise CommandError("A participant who is moved between these lanes would notice.")


def _select_lanes(routing: Routing, preset: str | None) -> tuple[Lane, ...]:
    if preset is None:
        return tuple(routing.lanes.values())
    if preset not in routing.presets:
        known = ", ".join(routing.presets)
        raise CommandError(f"There is no preset {preset!r}. Name one of: {known}.", returncode=CANNOT_RUN)
    return tuple(routing.lanes[name] for name in routing.presets[preset].chain)


async def _check(
    turn_policy: TurnPolicy, lanes: tuple[Lane, ...], on_line: Callable[[str], None], *, limit_s: float
) -> ContractReport:
    async with build_client() as client:
        policy = ask_policy(turn_policy, now=lambda: datetime.now(UTC))
        return await check_contract(
            lanes, Caller(build_adapters(client)), policy=policy, limit_s=limit_s, on_line=on_line
        )
