"""`manage.py growth`: fills a database of its own step by step, and measures what each size costs."""

import json
import logging
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ops.growth import plan, report
from ops.growth.clients import OperationFailed
from ops.growth.filling import CEILING, OnProgress
from ops.growth.operations import ServiceParts
from ops.growth.run import GrowthRun, run_churn
from ops.project.wiring.pools import build_turn_pool
from ops.project.wiring.routing import build_routing
from ops.project.wiring.turns import build_turn_policy
from ops.stack.errors import CannotStart
from ops.stack.signals import StopRequested, stop_on_signals
from ops.testbed import private_folder
from ops.testbed.processes import ChildFailed
from routing.chain import build_route
from routing.lanes import NORMAL

INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Measures what pages, sockets, the gate and jobs read while turns, people, queues, flags and the record grow, "
        "in a database of its own. Exit code 0: every cost is flat, logarithmic or bounded, and no plan reads much "
        "more than it returns; 1: one does not hold, or nothing could be measured."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--sizes",
            choices=("small", "whole"),
            default="whole",
            help="small: under a minute; whole: up to 5,000,000 turns, some 20 minutes and 10 GB (default)",
        )
        parser.add_argument("--rows", type=int, metavar="N", help="no size above N")
        parser.add_argument(
            "--only", action="append", default=[], metavar="WHAT", help=f"one of: {', '.join(plan.TITLES)}"
        )
        parser.add_argument(
            "--churn",
            type=int,
            metavar="N",
            help="instead: let N turns live and end, and tell what they leave behind until autovacuum has been there",
        )
        parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to this file too")

    def handle(self, *args: Any, **options: Any) -> None:
        # The command signs people in, and each sign-in logs a line.
        logging.getLogger("companion").setLevel(logging.WARNING)
        try:
            with stop_on_signals(self._say), self._progress() as on_progress:
                if options["churn"] is not None:
                    self._churn(options["churn"], options["json"], on_progress)
                    return
                sizes = plan.small() if options["sizes"] == "small" else plan.whole()
                chosen = plan.limit(sizes, rows=options["rows"], only=options["only"])
                result = GrowthRun(
                    private_folder.current(), chosen, _build_parts, say=self._say, on_progress=on_progress
                ).run()
        except StopRequested:
            sys.exit(INTERRUPTED)
        except (
            plan.PlanOutOfBounds,
            private_folder.NoPrivateFolder,
            CannotStart,
            ChildFailed,
            OperationFailed,
        ) as refusal:
            raise CommandError(str(refusal)) from None
        at = datetime.now(UTC)
        self._say("")
        for line in report.format_lines(result):
            self._say(line)
        if file := options["json"]:
            file.write_text(json.dumps(report.to_document(result, at=at), indent=1))
        self._say(f"\nReport: {report.write(result, private_folder.original_state_dir() / 'growth', at=at)}")
        if result.broken:
            sys.exit(1)

    def _churn(self, turns: int, file: Path | None, on_progress: OnProgress) -> None:
        points = run_churn(
            private_folder.current(),
            plan.check_churn(turns),
            _build_parts,
            say=self._say,
            on_progress=on_progress,
        )
        for line in report.format_churn(points):
            self._say(line)
        if file:
            file.write_text(json.dumps([asdict(point) for point in points], indent=1))

    @contextmanager
    def _progress(self) -> Iterator[OnProgress]:
        columns = (
            TextColumn("{task.description:28}"),
            BarColumn(),
            TextColumn("{task.completed:>11,.0f} of {task.total:,.0f}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
            tasks: dict[str, Any] = {}

            def show(what: str, done: int, of: int) -> None:
                if what not in tasks:
                    tasks[what] = progress.add_task(what, total=of)
                progress.update(tasks[what], completed=done, total=of)

            yield show

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()


def _build_parts() -> ServiceParts:
    return ServiceParts(
        policy=replace(build_turn_policy(), ceiling=CEILING),
        route=build_route(build_routing(), NORMAL, 0),
        build_pool=build_turn_pool,
    )
