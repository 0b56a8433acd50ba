"""`manage.py bench`: measures the time that the service adds to the provider's own."""

import json
import logging
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ops.bench import plan, table
from ops.bench.run import run
from ops.bench.targets import check_targets
from ops.stack.errors import CannotStart
from ops.stack.signals import StopRequested, stop_on_signals
from ops.testbed import private_folder
from ops.testbed.processes import ChildFailed

INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Measures how long words take through one web process, beside bare relays. "
        "Exit code 1: a question got no whole reply."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        size = parser.add_mutually_exclusive_group()
        size.add_argument("--quick", action="store_true", help="fewer rounds: under a minute")
        size.add_argument("--small", action="store_true", help="a few people: only to test the bench itself")
        parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to this file too")

    def handle(self, *args: Any, quick: bool, small: bool, **options: Any) -> None:
        # The command signs in hundreds of people, and each sign-in logs a line.
        logging.getLogger("companion").setLevel(logging.WARNING)
        chosen = plan.quick() if quick else plan.small() if small else plan.full()
        try:
            with stop_on_signals(self._say):
                result = run(private_folder.current(), chosen, self._say)
        except StopRequested:
            sys.exit(INTERRUPTED)
        except (private_folder.NoPrivateFolder, CannotStart, ChildFailed) as refusal:
            raise CommandError(str(refusal)) from None
        targets = check_targets(chosen, result)
        self._say("")
        for line in table.format_result(result, targets):
            self._say(line)
        if file := options["json"]:
            document = {
                "findings": asdict(result),
                "targets": [asdict(target) | {"met": target.met} for target in targets],
            }
            file.write_text(json.dumps(document, indent=1))
        if missing := table.count_unanswered(result):
            self._say(f"{missing} questions were not answered.")
            sys.exit(1)

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()
