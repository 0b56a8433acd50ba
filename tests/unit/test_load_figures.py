"""What a load test tells of CPU and of the gaps between words."""

from typing import Any

import pytest

from ops.load.cpu import measure_cpu
from ops.load.figures import summarize
from ops.load.plan import LoadPlan
from ops.load.targets import SpeedTarget, check_targets

PLAN = LoadPlan(
    sessions=600,
    turns=1,
    pace_ms=200,
    first_word_ms=250,
    words=60,
    ramp_s=0,
    think_s=0,
    stay_s=0,
    limit_s=600,
)


def gap_target(gap_p99_ms: float, *, processes: int, peak: int = 600) -> SpeedTarget | None:
    results: dict[str, Any] = {
        "turns": [],
        "opened_s": [],
        "lost": 0,
        "open_at_once": 600,
        "gaps_ms": {"p50": 200.0, "p95": 260.0, "p99": gap_p99_ms},
        "sent_gaps_ms": {"p50": 200.0, "p95": 250.0, "p99": 260.0},
    }
    found = check_targets(PLAN, summarize(results, []), processes=processes, peak=peak, failed=0)
    return next((target for target in found if "word gap" in target.what), None)


@pytest.mark.parametrize(("processes", "limit"), [(1, 2.0), (8, 3.0)])
def test_the_gap_between_words_is_held_against_the_providers_own(processes: int, limit: float) -> None:
    met, missed = (gap_target(260.0 * factor * limit, processes=processes) for factor in (0.9, 1.1))
    assert met is not None and met.met
    assert missed is not None and not missed.met


def test_the_gap_is_no_target_while_few_are_answered() -> None:
    assert gap_target(260.0, processes=8, peak=100) is None


def test_each_part_is_told_what_it_used_meanwhile_and_the_crowd_what_it_counted_itself() -> None:
    web, database = iter([10.0, 13.0]), iter([2.0, 3.0])
    with measure_cpu({"web": lambda: next(web), "PostgreSQL": lambda: next(database)}) as cpu:
        pass
    assert cpu.with_crowd(1.0).by_part == {"web": 3.0, "PostgreSQL": 1.0, "crowd": 1.0}
    assert cpu.total_s == 5.0


def test_the_crowd_of_a_service_whose_processes_are_not_known_has_no_share() -> None:
    with measure_cpu({}) as cpu:
        pass
    assert cpu.with_crowd(1.0).by_part == {}
