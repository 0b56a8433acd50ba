"""Every hazard names a control, and a test that exists and proves it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HAZARDS = ROOT / "ops" / "runbooks" / "hazards.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in HAZARDS.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| hazard ")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_a_hazard_has_a_control_and_a_test(row: list[str]) -> None:
    hazard, control, proof = row
    assert hazard
    assert control
    assert TEST.findall(proof), "name a test as `tests/FOLDER/FILE.py::TEST`"


@pytest.mark.parametrize(
    ("file", "name"), sorted({found for row in ROWS for found in TEST.findall(row[2])}), ids=str
)
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_log_holds_hazards() -> None:
    assert len(ROWS) > 10
