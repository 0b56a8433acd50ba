"""`manage.py load_test`: many people at once, over real websockets, with the provider stubbed. Costs nothing."""

import logging
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.bench import place
from ops.bench.children import ChildFailed, children
from ops.load import report, service
from ops.load.errors import CannotLoad
from ops.load.plan import MOST_PROCESSES, Plan
from ops.load.run import Outcome, run
from ops.stack.errors import CannotStart
from ops.stack.signals import StopRequested, stop_on_signals
from personas.errors import PersonaInvalid
from routing.errors import RoutingFileInvalid

INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Lets many people in at once and checks the ceiling, the order of arrival and every text. Against a running "
        "scripts/up with its rehearsal provider, or with --own against a private service. "
        "Exit code 0: everything held; 1: something did not, or nothing could be tested."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sessions", type=int, default=50, metavar="N", help="people (default 50)")
        parser.add_argument("--turns", type=int, default=2, metavar="N", help="questions of each (default 2)")
        parser.add_argument(
            "--pace",
            type=float,
            default=40,
            metavar="MS",
            help="between two words of the provider (default 40)",
        )
        parser.add_argument(
            "--first-word", type=float, default=250, metavar="MS", help="of the provider (default 250)"
        )
        parser.add_argument("--words", type=int, default=60, metavar="N", help="of each reply (default 60)")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--burst", action="store_true", help="all arrive in the same moment (the default)")
        how.add_argument(
            "--ramp", type=float, default=0, metavar="S", help="they arrive over so many seconds"
        )
        parser.add_argument(
            "--think", type=float, default=0, metavar="S", help="between reply and next question"
        )
        parser.add_argument("--stay", type=float, default=0, metavar="S", help="after the last reply")
        parser.add_argument(
            "--limit", type=float, default=600, metavar="S", help="broken off then (default 600)"
        )
        parser.add_argument("--own", action="store_true", help="start a private service for the test")
        parser.add_argument("--processes", type=int, metavar="N", help="web processes of --own (default 1)")
        parser.add_argument("--ceiling", type=int, metavar="N", help="of --own (default 32)")
        parser.add_argument("--wait-ceiling", type=int, metavar="S", help="of --own (default 45)")
        parser.add_argument(
            "--kill",
            type=float,
            metavar="S",
            help="with --own: kill -9 one web process after so many seconds",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Hundreds of people are signed in here, and each would be a line.
        logging.getLogger("companion").setLevel(logging.WARNING)
        try:
            plan = Plan(
                sessions=options["sessions"],
                turns=options["turns"],
                pace_ms=options["pace"],
                first_word_ms=options["first_word"],
                words=options["words"],
                ramp_s=options["ramp"],
                think_s=options["think"],
                stay_s=options["stay"],
                limit_s=options["limit"],
            )
            with stop_on_signals(self._say):
                outcome = self._own(plan, options) if options["own"] else self._running(plan, options)
        except StopRequested:
            sys.exit(INTERRUPTED)
        except (CannotLoad, CannotStart, ChildFailed, place.NoPlace) as refusal:
            raise CommandError(str(refusal)) from None
        except (PersonaInvalid, RoutingFileInvalid) as refusal:
            raise CommandError(f"The service cannot run like this. {refusal}") from None
        for line in report.lines(outcome):
            self._say(line)
        folder = place.home() if options["own"] else settings.COMPANION_STATE_DIR
        self._say(f"\nReport: {report.write(outcome, folder / 'load')}")
        if not outcome.passed:
            sys.exit(1)

    def _running(self, plan: Plan, options: dict[str, Any]) -> Outcome:
        for name in ("processes", "ceiling", "wait_ceiling", "kill"):
            if options[name] is not None:
                raise CannotLoad(f"--{name.replace('_', '-')} is for a private service: add --own.")
        # Wiring reads the routing file, so it is asked late.
        from ops.project import wiring

        found = service.running(settings.COMPANION_STATE_DIR, wiring.build_routing())
        with self._bar(plan) as watcher:
            return run(plan, found, watcher)

    def _own(self, plan: Plan, options: dict[str, Any]) -> Outcome:
        processes = options["processes"] or 1
        if not 1 <= processes <= MOST_PROCESSES:
            raise CannotLoad(f"--processes must be from 1 to {MOST_PROCESSES}; it is {processes}.")
        if options["kill"] is not None and processes < 2:
            raise CannotLoad("--kill needs a second process that goes on: add --processes 2.")
        folder: Path = place.taken()
        self._say(f"Starting a database, a provider and {processes} web process{'es' * (processes > 1)} …")
        with (
            children(folder) as started,
            service.private(
                started,
                folder,
                processes=processes,
                ceiling=options["ceiling"] or 32,
                wait_ceiling_s=options["wait_ceiling"] or 45,
            ) as found,
            self._bar(plan) as watcher,
        ):
            return run(plan, found, watcher, kill_after_s=options["kill"])

    @contextmanager
    def _bar(self, plan: Plan) -> Any:
        columns = (
            TextColumn("{task.description:18}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(
            *columns, TextColumn("{task.fields[note]}"), console=Console(file=sys.stderr)
        ) as progress:
            yield Bar(progress, plan, self._say)

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()


class Bar:
    """Shows how far the test has come."""

    def __init__(self, progress: Progress, plan: Plan, say: Callable[[str], None]) -> None:
        self._progress = progress
        self.say = say
        self._guests = progress.add_task("people invited", total=plan.sessions, note="")
        self._opened = progress.add_task("sessions opened", total=plan.sessions, note="")
        self._ended = progress.add_task("turns ended", total=plan.asked, note="") if plan.asked else None

    def invited(self, done: int) -> None:
        """So many people are there."""
        self._progress.update(self._guests, completed=done)

    def moved(self, *, opened: int, ended: int, open_now: int, in_flight: int) -> None:
        """Something has moved."""
        self._progress.update(self._opened, completed=opened, note=f"{open_now} open")
        if self._ended is not None:
            self._progress.update(self._ended, completed=ended, note=f"{in_flight} answers run")
