"""`manage.py bench`: what the service adds to the provider's own time, measured here and now."""

import json
import logging
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ops.bench import place, plan, table
from ops.bench.children import ChildFailed
from ops.bench.run import run
from ops.bench.verdicts import verdicts
from ops.stack.errors import CannotStart
from ops.stack.signals import StopRequested, stop_on_signals

INTERRUPTED = 130


class Command(BaseCommand):
    help = "Measure the way of a word through one web process, beside bare relays. Exit code 1: not all was answered."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        size = parser.add_mutually_exclusive_group()
        size.add_argument("--quick", action="store_true", help="fewer rounds: under a minute")
        size.add_argument(
            "--small", action="store_true", help="a handful of people: only to see that it works"
        )
        parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to this file too")

    def handle(self, *args: Any, quick: bool, small: bool, **options: Any) -> None:
        # Hundreds of people are signed in here, and each would be a line.
        logging.getLogger("companion").setLevel(logging.WARNING)
        chosen = plan.quick() if quick else plan.small() if small else plan.full()
        try:
            with stop_on_signals(self._say):
                findings = run(place.taken(), chosen, self._say)
        except StopRequested:
            sys.exit(INTERRUPTED)
        except (place.NoPlace, CannotStart, ChildFailed) as refusal:
            raise CommandError(str(refusal)) from None
        found = verdicts(chosen, findings)
        self._say("")
        for line in table.lines(findings, found):
            self._say(line)
        if file := options["json"]:
            targets = [asdict(one) | {"met": one.met} for one in found]
            file.write_text(json.dumps({"findings": asdict(findings), "targets": targets}, indent=1))
        if missing := table.unanswered(findings):
            self._say(f"{missing} questions were not answered.")
            sys.exit(1)

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()
