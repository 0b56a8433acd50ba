"""`manage.py preflight`: what would stop a start of the service here, in sentences."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from companion.prompt import min_context_tokens
from ops.preflight.report import MessageLevel, build_document, count_level, format_section, format_verdict
from ops.preflight.sections import PreflightParts, run_sections
from ops.project.wiring.pools import count_connections
from ops.project.wiring.routing import build_routing
from ops.project.wiring.status import build_facts
from ops.project.wiring.turns import build_turn_policy
from ops.status.figures import get_status
from personas.errors import PersonaInvalid
from routing.contracts import Lane
from routing.errors import RoutingFileInvalid
from routing.lanes import Routing

STOPS = 1


class Command(BaseCommand):
    help = (
        "Looks at everything that a start of the service here needs: settings, files, database, lanes, queue, mail, "
        "what runs already and the way in from outside. Changes nothing, asks no lane and sends nothing. "
        "Exit code 0: nothing stops a start; 1: something does; 78: a setting is invalid."
    )
    # It runs them itself, and goes on after a fault.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        results = []
        for result in run_sections(_build_parts()):
            results.append(result)
            if not options["json"]:
                for line in format_section(result):
                    self.stdout.write(line)
                self.stdout.flush()
        self.stdout.write(json.dumps(build_document(results)) if options["json"] else format_verdict(results))
        if count_level(results, MessageLevel.STOPS):
            sys.exit(STOPS)


def _build_parts() -> PreflightParts:
    routing, versions = _read_routing(), set[str]()
    system_prompt = ""
    try:
        policy = build_turn_policy()
        versions, system_prompt = set(policy.list_versions()), policy.system_prompt
    except PersonaInvalid:
        # A numbered check says it.
        pass

    def needs(lane: Lane) -> int:
        return min_context_tokens(system_prompt, max_tokens=lane.max_tokens)

    return PreflightParts(
        routing=routing,
        needs=needs,
        persona_versions=versions,
        connections=count_connections(),
        read_figures=lambda: get_status(build_facts()),
    )


def _read_routing() -> Routing | None:
    try:
        return build_routing()
    except RoutingFileInvalid:
        return None
