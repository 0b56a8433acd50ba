"""`manage.py load_test`: many people at once over real WebSockets, with the rehearsal provider. Costs nothing."""

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

from ops.load import report, service
from ops.load.errors import CannotLoad
from ops.load.plan import MAX_PROCESSES, LoadPlan
from ops.load.run import LoadResult, run
from ops.project.wiring.routing import build_routing
from ops.stack.errors import CannotStart
from ops.stack.signals import StopRequested, stop_on_signals
from ops.testbed import private_folder
from ops.testbed.processes import ChildFailed, run_children
from personas.errors import PersonaInvalid
from routing.errors import RoutingFileInvalid

INTERRUPTED = 130
USUAL = {"sessions": 50, "turns": 2, "pace": 40.0, "words": 60}
MANY = {"sessions": 2_000, "turns": 1, "pace": 200.0, "words": 60, "processes": 8}


class Command(BaseCommand):
    help = (
        "Lets many people in at once and checks the ceiling, the order of arrival and every text. Against a running "
        "scripts/up with its rehearsal provider, or with --own against a private service. "
        "Exit code 0: everything held; 1: something did not, or nothing could be tested."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--many",
            action="store_true",
            help="with --own: 2,000 replies at once over 8 web processes, 5 words a second, and none waits; "
            "other options change any of it",
        )
        parser.add_argument("--sessions", type=int, metavar="N", help="people (default 50)")
        parser.add_argument("--turns", type=int, metavar="N", help="questions of each (default 2)")
        parser.add_argument(
            "--pace", type=float, metavar="MS", help="between two words of the provider (default 40)"
        )
        parser.add_argument(
            "--first-word", type=float, default=250, metavar="MS", help="of the provider (default 250)"
        )
        parser.add_argument("--words", type=int, metavar="N", help="of each reply (default 60)")
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
        # The command signs in hundreds of people, and each sign-in logs a line.
        logging.getLogger("companion").setLevel(logging.WARNING)
        for name, value in (MANY if options["many"] else USUAL).items():
            if options[name] is None:
                options[name] = value
        try:
            plan = LoadPlan(
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
                result = (
                    self._load_private(plan, options) if options["own"] else self._load_running(plan, options)
                )
        except StopRequested:
            sys.exit(INTERRUPTED)
        except (CannotLoad, CannotStart, ChildFailed, private_folder.NoPrivateFolder) as refusal:
            raise CommandError(str(refusal)) from None
        except (PersonaInvalid, RoutingFileInvalid) as refusal:
            raise CommandError(f"The service cannot run like this. {refusal}") from None
        for line in report.format_lines(result):
            self._say(line)
        folder = private_folder.original_state_dir() if options["own"] else settings.COMPANION_STATE_DIR
        self._say(f"\nReport: {report.write(result, folder / 'load')}")
        if not result.passed:
            sys.exit(1)

    def _load_running(self, plan: LoadPlan, options: dict[str, Any]) -> LoadResult:
        if options["many"]:
            raise CannotLoad("--many is for a private service: add --own.")
        for name in ("processes", "ceiling", "wait_ceiling", "kill"):
            if options[name] is not None:
                raise CannotLoad(f"--{name.replace('_', '-')} is for a private service: add --own.")
        running = service.find_running(settings.COMPANION_STATE_DIR, build_routing())
        with self._progress_bar(plan) as display:
            return run(plan, running, display)

    def _load_private(self, plan: LoadPlan, options: dict[str, Any]) -> LoadResult:
        processes = options["processes"] or 1
        if not 1 <= processes <= MAX_PROCESSES:
            raise CannotLoad(f"--processes must be from 1 to {MAX_PROCESSES}; it is {processes}.")
        if options["kill"] is not None and processes < 2:
            raise CannotLoad("--kill needs a second process that goes on: add --processes 2.")
        folder: Path = private_folder.current()
        self._say(f"Starting a database, a provider and {processes} web process{'es' * (processes > 1)} …")
        with (
            run_children(folder) as children,
            service.start_private(
                children,
                folder,
                processes=processes,
                ceiling=options["ceiling"] or (plan.sessions if options["many"] else 32),
                wait_ceiling_s=options["wait_ceiling"] or 45,
            ) as private,
            self._progress_bar(plan) as display,
        ):
            return run(plan, private, display, kill_after_s=options["kill"])

    @contextmanager
    def _progress_bar(self, plan: LoadPlan) -> Any:
        columns = (
            TextColumn("{task.description:18}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(
            *columns, TextColumn("{task.fields[note]}"), console=Console(file=sys.stderr)
        ) as progress:
            yield LoadProgressBar(progress, plan, self._say)

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()


class LoadProgressBar:
    """Shows the progress of a load test; see `ops.load.run.LoadProgressDisplay`."""

    def __init__(self, progress: Progress, plan: LoadPlan, say: Callable[[str], None]) -> None:
        self._progress = progress
        self.write = say
        self._guests = progress.add_task("people invited", total=plan.sessions, note="")
        self._opened = progress.add_task("sessions opened", total=plan.sessions, note="")
        self._ended = (
            progress.add_task("turns ended", total=plan.questions, note="") if plan.questions else None
        )

    def set_invited(self, done: int) -> None:
        """How many people have been invited."""
        self._progress.update(self._guests, completed=done)

    def set_counts(self, *, opened: int, ended: int, open_now: int, in_flight: int) -> None:
        """Counts so far."""
        self._progress.update(self._opened, completed=opened, note=f"{open_now} open")
        if self._ended is not None:
            self._progress.update(self._ended, completed=ended, note=f"{in_flight} answers in flight")
