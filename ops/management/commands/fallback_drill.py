"""`manage.py fallback_drill`: asks every lane, then the chain with its head unplugged."""

import asyncio
import json
import os
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from companion.turn_policy import TurnPolicy
from ops.lane_checks.answer_lines import format_drill_answer
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.fallback import ROUND_TIMEOUT_S, DrillResult, run_drill
from ops.lane_checks.formatting import drill_document, format_drill
from ops.lane_checks.lane_call import ask_policy
from ops.lane_checks.results import store_answers
from ops.project.wiring.routing import build_routing
from ops.project.wiring.turns import build_turn_policy
from personas.errors import PersonaInvalid
from routing.adapters import build_adapters
from routing.adapters.transport import build_client
from routing.chain import Caller
from routing.contracts import Lane
from routing.errors import RoutingFileInvalid
from routing.lanes import NORMAL, Routing

CANNOT_RUN = 2


class Command(BaseCommand):
    help = (
        "Asks every lane a question of its own, and the chain of a preset once more with its head unplugged, over "
        "the code that serves people. The results are stored and shown on the ops page. Needs the keys of the lanes "
        "in its environment. Exit code 0: passed; 1: failed; 2: it could not run, or there "
        "is nothing to fall back on."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--preset", default=NORMAL, help="whose chain loses its head (default: normal)")
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(self, *args: Any, preset: str, **options: Any) -> None:
        turn_policy, routing = build_policy_and_routing()
        if preset not in routing.presets:
            known = ", ".join(routing.presets)
            raise CommandError(f"There is no preset {preset!r}. Name one of: {known}.", returncode=CANNOT_RUN)
        require_keys(routing.lanes.values())
        # Standard output is for programs then; people see the lines on standard error.
        out = self.stderr if options["json"] else self.stdout

        def write_answer(answer: LaneAnswer) -> None:
            out.write(format_drill_answer(answer))
            out.flush()

        result = asyncio.run(_run(turn_policy, routing, preset, on_answer=write_answer))
        store_answers(result.answers, preset=preset)
        self.stdout.write(json.dumps(drill_document(result)) if options["json"] else format_drill(result))
        if result.chain is None and all(answer.ok for answer in result.answers):
            raise CommandError(
                f"The chain of {preset} has nothing to fall back on, so no fallback was drilled. "
                "Give it a second lane.",
                returncode=CANNOT_RUN,
            )
        if not result.passed:
            raise CommandError("A lane did not answer as it must. Do not select a chain that it heads.")


def build_policy_and_routing() -> tuple[TurnPolicy, Routing]:
    """The turn policy and lanes of this release. Raises CommandError with the mend."""
    try:
        return build_turn_policy(), build_routing()
    except (PersonaInvalid, RoutingFileInvalid) as refusal:
        raise CommandError(str(refusal), returncode=CANNOT_RUN) from None


def require_keys(lanes: Iterable[Lane]) -> None:
    """Raise CommandError if a lane's key is not set in this shell, which says nothing about the lane."""
    missing = {
        lane.name: lane.api_key_env for lane in lanes if lane.api_key_env and not _is_set(lane.api_key_env)
    }
    if missing:
        listed = ", ".join(f"{variable} ({name})" for name, variable in missing.items())
        raise CommandError(
            f"Not set in this shell: {listed}. Nothing was asked or stored: the lanes may be in order. "
            "Give this shell the keys that the service was started with, and run it again.",
            returncode=CANNOT_RUN,
        )


def _is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


async def _run(
    turn_policy: TurnPolicy, routing: Routing, preset: str, *, on_answer: Callable[[LaneAnswer], None]
) -> DrillResult:
    async with build_client() as client:
        return await run_drill(
            routing,
            Caller(build_adapters(client)),
            build_caller=lambda unplugged: Caller(build_adapters(unplugged)),
            policy=ask_policy(turn_policy, now=lambda: datetime.now(UTC), limit_s=ROUND_TIMEOUT_S),
            preset=preset,
            on_answer=on_answer,
        )
