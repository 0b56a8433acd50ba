"""What counts as growth: ratios, bounds and plans, from costs that were measured (growth)."""

from collections.abc import Mapping
from typing import Any

import pytest

from ops.growth import plan
from ops.growth.figures import (
    Background,
    LoggedPlan,
    OperationCost,
    OperationGrowth,
    StatementCost,
    attribute,
)
from ops.growth.plans import StatementPlan, hide_values, parse_plan


def statement(
    text: str = "SELECT", *, rows: int = 0, returned: int = 1, blocks: int = 0, **in_sequence: int
) -> StatementPlan:
    return StatementPlan(
        text=text, rows_read=rows, rows_returned=returned, blocks=blocks, in_sequence=in_sequence
    )


def growth(costs: Mapping[int, StatementPlan]) -> OperationGrowth:
    return OperationGrowth(
        growing="turns",
        operation="hello",
        title="hello",
        costs={
            size: OperationCost(statements=(StatementCost(times=1, plan=one),)) for size, one in costs.items()
        },
    )


def test_a_cost_that_stays_is_flat() -> None:
    found = growth({1_000: statement(rows=200, blocks=400), 1_000_000: statement(rows=210, blocks=560)})
    assert (found.verdict, found.holds) == ("flat", True)


def test_a_cost_that_follows_the_height_of_an_index_is_logarithmic() -> None:
    found = growth({1_000: statement(blocks=400), 1_000_000: statement(blocks=780)})
    assert (found.verdict, round(found.bound, 1)) == ("logarithmic", 2.0)


def test_a_cost_that_follows_the_size_grows() -> None:
    found = growth({100: statement(rows=100), 1_000: statement(rows=400), 10_000: statement(rows=1_400)})
    assert (found.verdict, found.holds) == ("GROWS", False)


def test_a_cost_that_has_reached_its_limit_before_the_largest_size_is_bounded() -> None:
    found = growth({100: statement(rows=100), 2_000: statement(rows=1_000), 20_000: statement(rows=1_000)})
    assert (found.verdict, found.holds) == ("bounded", True)


def test_of_two_sizes_what_reads_few_rows_in_each_statement_is_bounded() -> None:
    assert growth({100: statement(rows=100), 3_000: statement(rows=1_500)}).verdict == "bounded"
    assert growth({100: statement(rows=100), 3_000: statement(rows=1_600, returned=400)}).verdict == "flat"
    assert growth({100: statement(rows=100), 3_000: statement(rows=3_000)}).verdict == "GROWS"


def test_more_rows_for_more_that_is_returned_is_no_growth() -> None:
    found = growth({10: statement(rows=200, returned=10), 10_000: statement(rows=1_000, returned=50)})
    assert found.verdict == "flat"


@pytest.mark.parametrize(
    ("plan_of_statement", "faults"),
    [
        (statement(rows=1_500), ()),
        (statement(rows=5_000, returned=2_000), ()),
        (statement(rows=5_001), ("reads 5,001 rows for 1",)),
        (statement(companion_turn=150), ()),
        (statement(companion_turn=151), ("reads 151 blocks of companion_turn in sequence",)),
    ],
)
def test_a_plan_that_reads_much_more_than_it_returns_is_a_fault(
    plan_of_statement: StatementPlan, faults: tuple[str, ...]
) -> None:
    assert plan_of_statement.faults == faults
    assert growth({10: statement(), 100: plan_of_statement}).holds is not bool(faults)


def test_what_processes_do_by_themselves_is_no_part_of_an_operation() -> None:
    logged = [LoggedPlan(program="companion", plan=statement("SELECT own", rows=3)) for _ in range(14)]
    tick = LoggedPlan(program="companion", plan=statement("SELECT tick", rows=900))
    seldom = LoggedPlan(program="companion", plan=statement("SELECT minute", rows=900))
    background = Background.measure([tick] * 8, seconds=8.0)

    found = attribute([*logged, *[tick] * 12, seldom], background, repeats=7, seconds=10.0)

    assert [(one.times, one.plan.text) for one in found] == [(2, "SELECT own")]


def test_a_statement_that_processes_run_as_well_counts_as_often_as_it_ran_beyond_that() -> None:
    gate = LoggedPlan(program="companion", plan=statement("SELECT gate", rows=3))
    background = Background.measure([gate] * 8, seconds=8.0)
    [found] = attribute([gate] * 17, background, repeats=7, seconds=3.0)
    assert found.times == 2


def node(kind: str, **facts: Any) -> dict[str, Any]:
    return {"Node Type": kind, "Actual Rows": 1, "Actual Loops": 1, **facts}


def test_rows_that_a_filter_removed_were_read_in_every_loop() -> None:
    scan = node(
        "Index Scan",
        **{"Relation Name": "companion_turn", "Index Name": "turn_live", "Rows Removed by Filter": 4},
    )
    document = {
        "Query Text": "SELECT 1 FROM companion_turn WHERE id = 7",
        "Plan": node(
            "Nested Loop",
            **{"Shared Hit Blocks": 9, "Shared Read Blocks": 2},
            Plans=[
                node("Seq Scan", **{"Relation Name": "companion_site", "Shared Hit Blocks": 1}),
                scan | {"Actual Loops": 3},
            ],
        ),
    }
    found = parse_plan(document)
    # The one row of the small table is not counted.
    assert (found.rows_read, found.blocks, found.in_sequence) == (15, 11, {"companion_site": 1})


def test_a_statement_that_changes_rows_returns_those_it_changed() -> None:
    changed = node("ModifyTable", **{"Actual Rows": 0, "Relation Name": "companion_turn"})
    changed["Plans"] = [node("Index Scan", **{"Actual Rows": 500, "Relation Name": "companion_turn"})]
    found = parse_plan({"Query Text": "DELETE", "Plan": changed})
    assert (found.rows_read, found.rows_returned) == (500, 500)


def test_statements_that_differ_in_their_values_alone_are_one() -> None:
    first = hide_values("SELECT  t.id FROM t\n WHERE a IN (1, 22, 3) AND b = 'it''s' LIMIT 50")
    assert first == hide_values("SELECT t.id FROM t WHERE a IN (4, 5) AND b = 'x' LIMIT 9")
    assert first == "SELECT t.id FROM t WHERE a IN (?) AND b = ? LIMIT ?"
    assert hide_values("SELECT $1, t1.x") == "SELECT $1, t1.x"


def test_no_size_goes_beyond_the_bound_that_was_asked_for() -> None:
    chosen = plan.limit(plan.whole(), rows=20_000, only=["turns", "waiting"])
    assert {one.name: one.sizes for one in chosen.growing} == {
        "turns": (1_000, 20_000),
        "waiting": (100, 2_000, 20_000),
    }


@pytest.mark.parametrize("asked", [{"rows": 10}, {"rows": 10**9}, {"only": ["everything"]}])
def test_what_cannot_be_planned_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(plan.PlanOutOfBounds):
        plan.limit(plan.whole(), **asked)


def test_everything_that_grows_is_measured_by_something() -> None:
    assert {one.name for one in plan.whole().growing} == set(plan.OPERATIONS) == set(plan.TITLES)
