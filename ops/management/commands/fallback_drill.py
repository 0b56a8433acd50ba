"""`manage.py fallback_drill`: asks every lane, and the chain with its head unplugged, before anybody needs them."""

import asyncio
import json
import os
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from companion.turn_policy import TurnPolicy
from ops.lane_checks.answer_lines import drilled_line
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.asking import manner_of
from ops.lane_checks.fallback import AT_MOST_S, Drilled, drill
from ops.lane_checks.formatting import drill_document, drill_text
from ops.lane_checks.results import keep
from personas.errors import PersonaInvalid
from routing.adapters import build_adapters
from routing.adapters.transport import build_client
from routing.chain import Caller
from routing.contracts import Lane
from routing.errors import RoutingFileInvalid
from routing.lanes import NORMAL, Routing

CANNOT = 2


class Command(BaseCommand):
    help = (
        "Asks every lane a question of its own, and the chain of a preset once more with its head unplugged, over "
        "the code that serves people. What came of it is kept, and shown on the ops page. Needs the keys of the lanes "
        "in its environment. Exit code 0: it passed; 1: it failed; 2: it could not be held, or there "
        "is nothing to fall back on."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--preset", default=NORMAL, help="whose chain loses its head (default: normal)")
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(self, *args: Any, preset: str, **options: Any) -> None:
        policy, routing = built()
        if preset not in routing.presets:
            known = ", ".join(routing.presets)
            raise CommandError(f"There is no preset {preset!r}. Name one of: {known}.", returncode=CANNOT)
        need_keys(routing.lanes.values())
        # Programs read the standard output, so that people see the lines on the other.
        out = self.stderr if options["json"] else self.stdout

        def tell(answer: LaneAnswer) -> None:
            out.write(drilled_line(answer))
            out.flush()

        found = asyncio.run(_held(policy, routing, preset, tell=tell))
        keep(found.answers, preset=preset)
        self.stdout.write(json.dumps(drill_document(found)) if options["json"] else drill_text(found))
        if found.chain is None and all(answer.ok for answer in found.answers):
            raise CommandError(
                f"The chain of {preset} has nothing to fall back on, so no fallback was drilled. "
                "Give it a second lane.",
                returncode=CANNOT,
            )
        if not found.passed:
            raise CommandError("A lane did not answer as it must. Do not select a chain that it heads.")


def built() -> tuple[TurnPolicy, Routing]:
    """The rules and lanes of this release. Raises CommandError with the mend."""
    from ops.project.wiring import build_routing, build_turn_policy

    try:
        return build_turn_policy(), build_routing()
    except (PersonaInvalid, RoutingFileInvalid) as refusal:
        raise CommandError(str(refusal), returncode=CANNOT) from None


def need_keys(lanes: Iterable[Lane]) -> None:
    """Raise CommandError where a lane's key is not set in this shell: that says nothing about the lane."""
    missing = {
        lane.name: lane.api_key_env for lane in lanes if lane.api_key_env and not _is_set(lane.api_key_env)
    }
    if missing:
        listed = ", ".join(f"{variable} ({name})" for name, variable in missing.items())
        raise CommandError(
            f"Not set in this shell: {listed}. Nothing was asked, and nothing was kept: the lanes may be well. "
            "Give this shell the keys that the service was started with, and run it again.",
            returncode=CANNOT,
        )


def _is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


async def _held(
    policy: TurnPolicy, routing: Routing, preset: str, *, tell: Callable[[LaneAnswer], None]
) -> Drilled:
    async with build_client() as client:
        return await drill(
            routing,
            Caller(build_adapters(client)),
            over=lambda unplugged: Caller(build_adapters(unplugged)),
            manner=manner_of(policy, now=lambda: datetime.now(UTC), at_most_s=AT_MOST_S),
            preset=preset,
            tell=tell,
        )
