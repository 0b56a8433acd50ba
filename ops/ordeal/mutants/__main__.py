"""`python -m ops.ordeal.mutants` proves the judge: breaks copies of the product, one promise each, to see them caught.

Exit code 0: every mutant was caught; 1: one was not; 2: one could not run.
"""

import argparse
import sys

from ops.ordeal.mutants.patching import load_mutants
from ops.ordeal.mutants.trial import TABLE_HEAD, format_row, try_mutant

NOT_CAUGHT, COULD_NOT_RUN = 1, 2


def main() -> int:
    """Try the mutants and print the table."""
    parser = argparse.ArgumentParser(prog="python -m ops.ordeal.mutants", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="most seeds for each (default 10)")
    parser.add_argument(
        "--first-seed", type=int, default=1, metavar="S", help="the first of them (default 1)"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only this mutant; may be repeated"
    )
    parser.add_argument(
        "--whole", action="store_true", help="run the product itself too, which must not be caught"
    )
    parser.add_argument(
        "options", nargs="*", help="after --: options of manage.py ordeal, such as --minutes 1"
    )
    asked = parser.parse_args()
    known = load_mutants()
    unknown = set(asked.only) - {mutant.name for mutant in known}
    if unknown:
        parser.error(
            f"no such mutant: {', '.join(sorted(unknown))}. Known: {', '.join(one.name for one in known)}"
        )
    chosen = [mutant for mutant in known if not asked.only or mutant.name in asked.only]
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    trials = []
    whole_held = True
    if asked.whole:
        whole = try_mutant(None, seeds, options=asked.options, say=_say)
        whole_held = not whole.is_caught and not whole.failed
        _say(f"the product itself: {'nothing found' if whole_held else whole.rule or whole.failed}")
    print(TABLE_HEAD, flush=True)
    for mutant in chosen:
        trial = try_mutant(mutant, seeds, options=asked.options, say=_say)
        if trial.failed:
            _say(f"{mutant.name}: {trial.failed}")
        print(format_row(trial), flush=True)
        trials.append(trial)
    if any(trial.failed for trial in trials):
        return COULD_NOT_RUN
    return 0 if whole_held and all(trial.is_caught for trial in trials) else NOT_CAUGHT


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
