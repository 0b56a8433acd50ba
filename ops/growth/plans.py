"""PURE. Reads the plans that PostgreSQL gives as JSON: rows read, rows returned, blocks touched, sequential scans."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_ROWS_READ = 1_500
"""Rows that one statement may read: a page has 50 turns, a prompt looks back at 120 of them twice."""
MAX_READ_FOR_EACH_RETURNED = 4
"""Beyond that, rows that one statement may read for each row that it returns or changes."""
MAX_BLOCKS_IN_SEQUENCE = 150
"""Blocks that a sequential scan may touch: the planner rightly scans a small table. Its rows are not counted then."""

_TEXT = re.compile(r"(?:E|U&)?'(?:[^']|'')*'")
_NUMBER = re.compile(r"(?<![\w$])-?\d+(?:\.\d+)?\b")
_LIST = re.compile(r"\?(?:\s*,\s*\?)+")

PlanNode = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class StatementPlan:
    """What one execution of a statement cost. `text` has no values in it."""

    text: str
    rows_read: int
    rows_returned: int
    """Rows that it returned or, if more, changed."""
    blocks: int
    in_sequence: Mapping[str, int]
    """Blocks that sequential scans touched, by table."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the plan, in words; empty: nothing."""
        found = [
            f"reads {blocks:,} blocks of {table} in sequence"
            for table, blocks in sorted(self.in_sequence.items())
            if blocks > MAX_BLOCKS_IN_SEQUENCE
        ]
        if self.rows_read > max(MAX_ROWS_READ, MAX_READ_FOR_EACH_RETURNED * self.rows_returned):
            found.append(f"reads {self.rows_read:,} rows for {self.rows_returned:,}")
        return tuple(found)


def parse_plan(document: Mapping[str, Any]) -> StatementPlan:
    """The costs of one executed statement, from a document with `Query Text` and `Plan`."""
    root = document["Plan"]
    in_sequence: Counter[str] = Counter()
    changed, not_counted = 0.0, 0.0
    for node in _walk(root):
        if node["Node Type"] == "Seq Scan":
            blocks = count_blocks(node)
            in_sequence[node["Relation Name"]] += blocks
            if blocks <= MAX_BLOCKS_IN_SEQUENCE:
                not_counted += _rows_of_scan(node)
        if node["Node Type"] == "ModifyTable":
            changed += sum(
                child["Actual Rows"] * child["Actual Loops"] for child in node.get("Plans", ())[:1]
            )
    return StatementPlan(
        text=hide_values(document.get("Query Text", "")),
        rows_read=round(count_rows_read(root) - not_counted),
        rows_returned=round(max(root["Actual Rows"] * root["Actual Loops"], changed)),
        blocks=count_blocks(root),
        in_sequence=dict(in_sequence),
    )


def count_blocks(node: PlanNode) -> int:
    """Blocks of tables and indexes that a node of a plan and those below it touched, in memory or on disk."""
    return int(node.get("Shared Hit Blocks", 0) + node.get("Shared Read Blocks", 0))


def count_rows_read(root: PlanNode, *, tables: Collection[str] | None = None) -> int:
    """Rows that the scans of a plan read, those included that a filter removed. `tables`: of these alone."""
    return round(sum(rows for table, _, rows in list_scans(root) if tables is None or table in tables))


def list_scans(root: PlanNode) -> list[tuple[str, str, float]]:
    """(table, index or kind of scan, rows read) of each scan of a table in a plan."""
    return [
        (node["Relation Name"], node.get("Index Name", node["Node Type"]), _rows_of_scan(node))
        for node in _walk(root)
        if "Relation Name" in node and "Scan" in node["Node Type"]
    ]


def hide_values(statement: str) -> str:
    """The statement on one line, with `?` for each value: equal for executions that differ in their values alone."""
    shown = _LIST.sub("?", _NUMBER.sub("?", _TEXT.sub("?", statement)))
    return " ".join(shown.split())


def find_faults(plans: Sequence[StatementPlan]) -> list[tuple[str, str]]:
    """(statement, what is wrong with its plan), once for each statement and fault."""
    return list(dict.fromkeys((plan.text, fault) for plan in plans for fault in plan.faults))


def _walk(node: PlanNode) -> Iterator[PlanNode]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)


def _rows_of_scan(node: PlanNode) -> float:
    read = (
        node["Actual Rows"]
        + node.get("Rows Removed by Filter", 0)
        + node.get("Rows Removed by Index Recheck", 0)
    )
    return float(read * node["Actual Loops"])
