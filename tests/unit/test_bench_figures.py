"""What the bench makes of what it hears: delays, added times, targets."""

from dataclasses import replace

from ops.bench.figures import Figures, of_round, percentile, together
from ops.bench.plan import OURS, RELAY_AIOHTTP, RELAY_STOCK, Load, Plan
from ops.bench.run import Findings
from ops.bench.stamps import Ear
from ops.bench.table import unanswered
from ops.bench.verdicts import verdicts

FIGURES = Figures(
    first_p50=10,
    first_p95=20,
    word_p50=1,
    word_p95=2,
    cpu=5,
    database_cpu=1,
    client_cpu=1,
    answered=200,
    asked=200,
)
LOAD = Load(people=200, pace_ms=10, first_word_ms=100, rounds=1)
PLAN = Plan(participants=200, loads=(LOAD,))


def test_a_stamp_cut_in_two_is_heard_once_and_when_it_is_whole() -> None:
    ear = Ear(0.0)
    ear.hear("1000000 20", 1.5)
    assert ear.delays == [0.5]
    ear.hear("00000 ", 2.25)
    assert ear.delays == [0.5, 0.25]


def test_the_last_stamp_counts_though_no_space_follows_it() -> None:
    ear = Ear(0.0)
    ear.hear("1000000", 1.5)
    ear.end(1.5)
    assert ear.delays == [0.5]


def test_the_providers_own_time_is_not_added_time() -> None:
    # Asked at 10 s, with the provider 5 ms later; it thinks for a second, and its first word takes 3 ms to arrive.
    heard = {"question": "?", "asked_at": 10.0, "delays": [0.003, 0.001], "whole": True}
    figures = of_round(
        {"heard": [heard], "client_cpu_s": 0.0},
        {"?": 10.005},
        asked=1,
        words=2,
        cpu_s=0.004,
        database_cpu_s=None,
    )
    assert round(figures.first_p50, 3) == 8.0
    assert figures.word_p50 == 1.0
    assert figures.cpu == 4.0
    assert (figures.answered, figures.asked) == (1, 1)


def test_a_reply_with_a_word_missing_is_not_an_answer() -> None:
    heard = {"question": "?", "asked_at": 0.0, "delays": [0.001], "whole": True}
    figures = of_round(
        {"heard": [heard], "client_cpu_s": 0.0},
        {"?": 0.0},
        asked=1,
        words=2,
        cpu_s=None,
        database_cpu_s=None,
    )
    assert figures.answered == 0


def test_a_percentile_of_nothing_is_nothing() -> None:
    assert percentile([], 0.95) == 0.0
    assert percentile([3, 1, 2], 0.5) == 2


def test_several_rounds_are_told_by_their_medians_and_all_their_answers() -> None:
    rounds = [replace(FIGURES, first_p50=value) for value in (10, 900, 12)]
    assert together(rounds).first_p50 == 12
    assert together(rounds).answered == 600


def test_a_target_is_met_by_the_ratio_to_a_relay_of_the_same_run() -> None:
    stock = replace(FIGURES, first_p50=100, first_p95=70)
    aiohttp = replace(FIGURES, cpu=4)
    findings = Findings(loads={LOAD.title: {OURS: FIGURES, RELAY_STOCK: stock, RELAY_AIOHTTP: aiohttp}})
    met = {one.what.split(": ")[1].split(",")[0]: one.met for one in verdicts(PLAN, findings)}
    assert met == {"first word p50": True, "first word p95": False, "CPU per reply": False}


def test_what_was_not_answered_is_counted_over_every_system() -> None:
    lost = replace(FIGURES, answered=198)
    assert unanswered(Findings(loads={LOAD.title: {OURS: FIGURES, RELAY_STOCK: lost}})) == 2
