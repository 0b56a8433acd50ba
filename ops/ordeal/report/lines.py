"""PURE. The verdict for a terminal, and as JSON values."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ops.ordeal.history import RunHistory
from ops.ordeal.judge.verdict import RULES, OrdealVerdict
from ops.ordeal.machine_load import describe_load, read_load
from ops.ordeal.report.timeline import describe_turn, list_faults, list_neighbourhood


def format_verdict(history: RunHistory, verdict: OrdealVerdict, *, repeat: str) -> Iterator[str]:
    """The verdict; after a violation also the timeline and the neighbourhood of the first. `repeat` is a command."""
    if verdict.violations:
        yield "Timeline:"
        yield from (f"  {line}" for line in list_faults(history))
        yield ""
    broken = Counter(one.rule for one in verdict.violations)
    for rule in RULES:
        count = broken[rule.name]
        outcome = (
            f"BROKEN {count} times" if count else "held" if verdict.checked[rule.name] else "nothing to check"
        )
        yield f"  {outcome:16} {verdict.checked[rule.name]:>8,} checks  {rule.promise}"
    checks = sum(verdict.checked.values())
    yield ""
    if machine := describe_load(read_load(history)):
        yield machine
    if not verdict.violations:
        yield f"Seed {verdict.seed}: nothing found in {checks:,} checks."
        return
    first = verdict.violations[0]
    yield f"First violation, at {first.at:.3f} s, {first.who or 'on record'}: {first.rule}: {first.text}."
    yield from (f"  {line}" for line in list_neighbourhood(history, first))
    if first.turn is not None:
        yield f"Turn {first.turn} as it is stored:"
        yield from (f"  {line}" for line in describe_turn(history, first.turn))
    yield f"{len(verdict.violations)} violations in {checks:,} checks. To repeat: {repeat}"


def to_document(verdict: OrdealVerdict) -> dict[str, Any]:
    """The verdict as JSON values."""
    return {
        "seed": verdict.seed,
        "held": verdict.held,
        "checked": dict(verdict.checked),
        "idle": verdict.idle,
        "violations": [asdict(one) for one in verdict.violations],
    }
