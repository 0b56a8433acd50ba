"""`manage.py ordeal`: everything at once, from a seed, judged by what was seen, asked, said and stored."""

import asyncio
import json
import logging
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from ops.ordeal.arena.run import ArenaFigures, run_plan
from ops.ordeal.history import read_history
from ops.ordeal.judge.verdict import judge
from ops.ordeal.plan.draw import draw_plan
from ops.ordeal.plan.steps import OrdealSize
from ops.ordeal.report import lines, page
from ops.stack.errors import CannotStart
from ops.stack.signals import StopRequested, stop_on_signals
from ops.testbed import private_folder
from ops.testbed.processes import ROOT, ChildFailed

VIOLATION, COULD_NOT_RUN, INTERRUPTED = 1, 2, 130
DEFAULT_SEED = 1


class Command(BaseCommand):
    help = (
        "Runs a private service with people, staff and faults that are drawn from a seed, and judges what was seen, "
        "asked, said and stored. Exit code 0: nothing was found; 1: a rule was broken; 2: it could not run."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--seed", type=int, metavar="S", help=f"the first seed (default {DEFAULT_SEED})")
        parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds in a row (default 1)")
        parser.add_argument(
            "--minutes", type=float, default=0.75, metavar="M", help="of scripts and faults (default 0.75)"
        )
        parser.add_argument("--people", type=int, default=6, metavar="N", help="participants (default 6)")
        parser.add_argument("--staff", type=int, default=2, metavar="N", help="members of staff (default 2)")
        parser.add_argument("--processes", type=int, default=2, metavar="M", help="web processes (default 2)")
        parser.add_argument("--json", action="store_true", help="print one JSON object for each seed")
        parser.add_argument(
            "--keep", type=Path, metavar="DIR", help="keep history and page there (default: the state folder)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        logging.getLogger("companion").setLevel(logging.WARNING)
        self._is_json = options["json"]
        seed = DEFAULT_SEED if options["seed"] is None else options["seed"]
        if min(options["seeds"], options["people"], options["processes"]) < 1 or options["staff"] < 0:
            self.stderr.write("--seeds, --people and --processes are at least 1, --staff at least 0.")
            sys.exit(COULD_NOT_RUN)
        try:
            with stop_on_signals(self._say):
                if options["seeds"] > 1:
                    sys.exit(self._run_seeds(range(seed, seed + options["seeds"]), options))
                sys.exit(self._run_seed(seed, options))
        except StopRequested:
            sys.exit(INTERRUPTED)
        except (CannotStart, ChildFailed, private_folder.NoPrivateFolder) as refusal:
            self.stderr.write(str(refusal))
            sys.exit(COULD_NOT_RUN)

    def _run_seeds(self, seeds: range, options: Mapping[str, Any]) -> int:
        """Each seed in a process of its own, so that none finds what another has left. Returns the worst exit code."""
        codes = {}
        keep = options["keep"] or private_folder.original_state_dir() / "ordeal"
        same = [*_format_size(options).split(), "--keep", str(keep), *["--json"] * self._is_json]
        for seed in seeds:
            self._say(f"\nSeed {seed} of {seeds.start} to {seeds.stop - 1}")
            command = [sys.executable, "manage.py", "ordeal", "--seed", str(seed), *same]
            codes[seed] = subprocess.run(command, cwd=ROOT, check=False).returncode
        found = [seed for seed, code in codes.items() if code == VIOLATION]
        failed = [seed for seed, code in codes.items() if code not in (0, VIOLATION)]
        self._say(
            f"\n{len(codes)} seeds. With a finding: {found or 'none'}. Could not run: {failed or 'none'}."
        )
        return max((VIOLATION if code == VIOLATION else code for code in codes.values()), default=0)

    def _run_seed(self, seed: int, options: Mapping[str, Any]) -> int:
        folder = private_folder.current()
        kept = self._keep_folder(options["keep"], seed)
        size = OrdealSize(
            people=options["people"],
            staff=options["staff"],
            processes=options["processes"],
            lasts_s=options["minutes"] * 60,
            ceiling=max(2, options["people"] // 2),
        )
        plan = draw_plan(seed, size)
        self._say(
            f"Seed {seed}: {size.people} people, {size.staff} staff, {size.processes} web processes, "
            f"{len(plan.faults)} faults in {size.lasts_s:.0f} seconds."
        )
        history = kept / "history.jsonl"
        try:
            figures = asyncio.run(run_plan(plan, folder, history, self._say))
        finally:
            shutil.copytree(folder / "log", kept / "log", dirs_exist_ok=True)
        self._say(f"{figures.events} events; {figures.faults} faults carried out, {figures.skipped} skipped.")
        return self._judge(history, figures, repeat=f"manage.py ordeal --seed {seed} {_format_size(options)}")

    def _judge(self, file: Path, figures: ArenaFigures, *, repeat: str) -> int:
        """Print and write the verdict; returns the exit code."""
        history = read_history(file)
        verdict = judge(history)
        for line in lines.format_verdict(history, verdict, repeat=repeat):
            self._say(line)
        report = page.write(history, verdict, file.parent, at=datetime.now(UTC), repeat=repeat)
        self._say(f"History: {file}\nReport: {report}")
        if self._is_json:
            facts = {"history": str(file), "figures": asdict(figures), **lines.to_document(verdict)}
            self.stdout.write(json.dumps(facts))
        return 0 if verdict.held else VIOLATION

    def _keep_folder(self, named: Path | None, seed: int) -> Path:
        folder = named or private_folder.original_state_dir() / "ordeal"
        kept = folder / f"seed-{seed}-{time.strftime('%Y%m%d-%H%M%S')}"
        kept.mkdir(parents=True, exist_ok=True)
        return kept

    def _say(self, sentence: str) -> None:
        stream = self.stderr if self._is_json else self.stdout
        stream.write(sentence)
        stream.flush()


def _format_size(options: Mapping[str, Any]) -> str:
    """The size of a run as arguments."""
    return " ".join(f"--{name} {options[name]}" for name in ("minutes", "people", "staff", "processes"))
