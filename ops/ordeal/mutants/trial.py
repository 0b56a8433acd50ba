"""Runs the ordeal on a copy of the product that a mutant has broken, seed after seed, until a rule catches it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ops.ordeal.mutants.patching import Mutant, copy_tree

HELD, VIOLATION = 0, 1
"""Exit codes of `manage.py ordeal`."""
SEED_TIMEOUT_S = 900.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MutantTrial:
    """How one mutant was caught. `seed` is 0 if it was not."""

    mutant: str
    breaks: str
    rule: str = ""
    other_rules: Sequence[str] = ()
    seed: int = 0
    seeds_tried: int = 0
    at_s: float = 0.0
    """When in the run of that seed the rule was broken, in its seconds."""
    took_s: float = 0.0
    """Wall time until it was caught, all seeds together."""
    failed: str = ""
    """Why a seed could not run; empty: all ran."""

    @property
    def is_caught(self) -> bool:
        return bool(self.rule)


def try_mutant(
    mutant: Mutant | None,
    seeds: Sequence[int],
    *,
    options: Sequence[str],
    say: Callable[[str], None],
) -> MutantTrial:
    """Try one mutant; None is the product itself, which must not be caught. `options` go to `manage.py ordeal`."""
    name, breaks = (mutant.name, mutant.breaks) if mutant else ("none", "Nothing: the product as it is")
    began = time.monotonic()
    with TemporaryDirectory(prefix="mutant-") as scratch:
        tree = Path(scratch) / "tree"
        copy_tree(tree, mutant)
        for tried, seed in enumerate(seeds, start=1):
            say(f"{name}: seed {seed}")
            try:
                ran = _run_seed(tree, Path(scratch), seed, options)
            except subprocess.TimeoutExpired:
                failure = f"seed {seed} was not over after {SEED_TIMEOUT_S:.0f} s"
                return MutantTrial(mutant=name, breaks=breaks, seeds_tried=tried, failed=failure)
            if ran.returncode not in (HELD, VIOLATION):
                return MutantTrial(mutant=name, breaks=breaks, seeds_tried=tried, failed=ran.stderr[-400:])
            if ran.returncode == VIOLATION:
                violations = json.loads(ran.stdout.splitlines()[-1])["violations"]
                rules = list(dict.fromkeys(one["rule"] for one in violations))
                return MutantTrial(
                    mutant=name,
                    breaks=breaks,
                    rule=rules[0],
                    other_rules=rules[1:],
                    seed=seed,
                    seeds_tried=tried,
                    at_s=violations[0]["at"],
                    took_s=time.monotonic() - began,
                )
    return MutantTrial(mutant=name, breaks=breaks, seeds_tried=len(seeds), took_s=time.monotonic() - began)


def _run_seed(
    tree: Path, scratch: Path, seed: int, options: Sequence[str]
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "manage.py", "ordeal", "--seed", str(seed), "--json"]
    return subprocess.run(
        [*command, "--keep", str(scratch / f"seed-{seed}"), *options],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
        timeout=SEED_TIMEOUT_S,
    )


TABLE_HEAD = """| mutant | what it breaks | caught by | seed | at | wall time |
|---|---|---|---|---|---|"""
"""Of the table for the README of the room. *At* is the second of the run of that seed."""


def format_row(trial: MutantTrial) -> str:
    """One row of the table."""
    name = trial.mutant.replace("_", " ")
    if trial.is_caught:
        rules = ", ".join(f"`{rule}`" for rule in (trial.rule, *trial.other_rules[:2]))
        caught = f"{rules} | {trial.seed} | {trial.at_s:.0f} s | {trial.took_s:.0f} s"
    else:
        caught = f"not caught in {trial.seeds_tried} seeds | | | {trial.took_s:.0f} s"
    return f"| {name} | {trial.breaks} | {caught} |"
