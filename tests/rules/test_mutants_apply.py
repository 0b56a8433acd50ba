"""Every mutant of the ordeal still applies to the product, changes it, and cannot be reached by a release."""

import ast
import re
from pathlib import Path

import pytest

from ops.ordeal.mutants.patching import (
    ROOT,
    DoesNotApply,
    Mutant,
    MutantChange,
    copy_tree,
    load_mutants,
)

MUTANTS = load_mutants()
ROOMS = ("companion", "ops", "personas", "routing", "validation")
WANTED = {
    "shown_before_stored",
    "ceiling_off_by_one",
    "slot_not_freed",
    "fence_not_checked",
    "half_answer_in_prompt",
    "held_order_reversed",
    "no_doorbell_no_tick",
    "sweep_off",
    "dedupe_off",
    "flag_outside_transaction",
    "take_over_without_compare_and_set",
    "ack_ignored",
    "pause_ignored",
    "refused_too_soon",
}


def test_every_mutant_is_there() -> None:
    assert {mutant.name for mutant in MUTANTS} >= WANTED


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_and_leaves_python_that_compiles(mutant: Mutant) -> None:
    for path, text in mutant.patched(ROOT).items():
        assert text != path.read_text(encoding="utf-8")
        ast.parse(text)


def test_a_mutant_whose_text_is_gone_is_named() -> None:
    gone = Mutant(name="gone", breaks="", changes=(MutantChange(file="manage.py", old="not there", new=""),))

    with pytest.raises(DoesNotApply, match=r"gone: manage\.py"):
        gone.patched(ROOT)


def test_a_copy_is_broken_and_the_tree_is_not(tmp_path: Path) -> None:
    mutant = next(one for one in MUTANTS if one.name == "sweep_off")
    before = (ROOT / "companion" / "sweep.py").read_text()
    copy_tree(tmp_path / "tree", mutant)

    assert (tmp_path / "tree" / "companion" / "sweep.py").read_text() != before
    assert (ROOT / "companion" / "sweep.py").read_text() == before
    assert (tmp_path / "tree" / "manage.py").is_file()
    assert not (tmp_path / "tree" / ".git").exists()


def test_nothing_in_the_product_imports_the_mutants() -> None:
    imports = re.compile(r"^\s*(?:from|import)\s+ops\.ordeal\.mutants|[\"']ops\.ordeal\.mutants", re.M)
    importers = [
        path
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if "mutants" not in path.parts and imports.search(path.read_text(encoding="utf-8"))
    ]

    assert importers == []
