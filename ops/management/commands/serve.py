"""`manage.py serve --port P`: one web process."""

import gc
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Run one web process until it is told to leave. Exit code 78: the configuration must be mended."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--fd", type=int, help="a socket that listens on that port already")
        parser.add_argument("--check", action="store_true", help="only say whether it could serve")

    def handle(self, *args: Any, **options: Any) -> None:
        # What is imported stays: the collector would go through it many times, for a fifth of the start.
        gc.disable()
        # Daphne must be imported before anything else touches Twisted's reactor.
        from ops.project import web
        from ops.project.wiring.noticing import build_safety_rules
        from ops.project.wiring.routing import build_routing
        from ops.project.wiring.turns import build_turn_policy
        from personas.errors import PersonaInvalid
        from routing.errors import RoutingFileInvalid

        try:
            if options["check"]:
                build_turn_policy()
                build_routing()
                build_safety_rules()
                return
            code = web.serve(host=options["host"], port=options["port"], descriptor=options["fd"])
        except (PersonaInvalid, RoutingFileInvalid) as refusal:
            self.stderr.write(f"The service does not start. {refusal}")
            sys.exit(web.REFUSED)
        sys.exit(code)
