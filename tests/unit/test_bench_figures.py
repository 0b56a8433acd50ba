"""Figures of the bench: delays, added times, targets."""

from dataclasses import replace

import pytest

from ops.bench.figures import RoundFigures, combine_rounds, summarize_round
from ops.bench.plan import OURS, RELAY_AIOHTTP, RELAY_STOCK, BenchLoad, BenchPlan
from ops.bench.run import BenchResult
from ops.bench.supervision import FlagFigures, SupervisionFigures, summarize_flags
from ops.bench.table import count_unanswered, format_result
from ops.bench.targets import check_targets
from ops.testbed.percentiles import percentile
from ops.testbed.stamped_words import StampedWords
from routing.rehearsal.stamps import write_stamp

FIGURES = RoundFigures(
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
FLAGS = FlagFigures(stored_p50=10, stored_p95=40, shown_p50=20, shown_p95=60, shown=400, expected=400)
SUPERVISION = SupervisionFigures(
    noticing_p50=0.1,
    noticing_p95=0.2,
    flags={"with no reply under way": FLAGS},
    cpu_alone=5.0,
    cpu_watched=5.5,
    watched_ratio=1.1,
)
LOAD = BenchLoad(people=200, pace_ms=10, first_word_ms=100, rounds=1)
PLAN = BenchPlan(participants=200, loads=(LOAD,))


def test_a_stamp_cut_in_two_is_heard_once_and_when_it_is_whole() -> None:
    words = StampedWords(0.0)
    two = write_stamp(2.0)
    words.add(f"{write_stamp(1.0)} {two[:2]}", 1.5)
    assert words.delays == [0.5]
    words.add(f"{two[2:]} ", 2.25)
    assert words.delays == [0.5, 0.25]


def test_the_last_stamp_counts_though_no_space_follows_it() -> None:
    words = StampedWords(0.0)
    words.add(write_stamp(1.0), 1.5)
    words.end(1.5)
    assert words.delays == [0.5]


def test_the_providers_own_time_is_not_added_time() -> None:
    # Asked at 10 s, with the provider 5 ms later; it thinks for a second, and its first word takes 3 ms to arrive.
    reply = {"question": "?", "asked_at": 10.0, "delays": [0.003, 0.001], "whole": True}
    figures = summarize_round(
        {"replies": [reply], "client_cpu_s": 0.0},
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
    reply = {"question": "?", "asked_at": 0.0, "delays": [0.001], "whole": True}
    figures = summarize_round(
        {"replies": [reply], "client_cpu_s": 0.0},
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
    assert combine_rounds(rounds).first_p50 == 12
    assert combine_rounds(rounds).answered == 600


def test_a_target_is_met_by_the_ratio_to_a_relay_of_the_same_run() -> None:
    stock = replace(FIGURES, first_p50=100, first_p95=70)
    aiohttp = replace(FIGURES, cpu=4)
    result = BenchResult(loads={LOAD.title: {OURS: FIGURES, RELAY_STOCK: stock, RELAY_AIOHTTP: aiohttp}})
    met = {one.what.split(": ")[1].split(",")[0]: one.met for one in check_targets(PLAN, result)}
    assert met == {
        "first word p50": True,
        "first word p95": False,
        "CPU per reply": False,
        "CPU per reply with PostgreSQL's": False,
    }


def test_the_cpu_of_postgresql_counts_to_that_of_a_reply() -> None:
    aiohttp = replace(FIGURES, cpu=5.5, database_cpu=None)
    result = BenchResult(loads={LOAD.title: {OURS: FIGURES, RELAY_AIOHTTP: aiohttp}})
    measured = {one.what.split(": ")[1].split(",")[0]: one for one in check_targets(PLAN, result)}
    assert measured["CPU per reply"].met
    assert measured["CPU per reply with PostgreSQL's"].measured == pytest.approx(6 / 5.5)


def test_the_first_word_of_one_person_is_told_in_pairs_of_commits() -> None:
    alone = BenchLoad(people=1, pace_ms=0, first_word_ms=0, rounds=1)
    result = BenchResult(two_commits=(4.0, 6.0), loads={alone.title: {OURS: FIGURES}})
    text = "\n".join(format_result(result, []))
    assert (
        "Two commits, one after the other: 4.0 / 6.0 ms; the first word of one person takes 2.5 times" in text
    )


def test_what_was_not_answered_is_counted_over_every_system() -> None:
    lost = replace(FIGURES, answered=198)
    assert count_unanswered(BenchResult(loads={LOAD.title: {OURS: FIGURES, RELAY_STOCK: lost}})) == 2


def test_the_way_of_a_flag_is_measured_to_every_screen() -> None:
    times = {"stored_s": [0.01, 0.02], "shown_s": [0.03, 0.05, 0.04]}
    figures = summarize_flags(times, expected=4)
    assert (figures.stored_p50, figures.shown_p50, figures.shown_p95) == (20, 40, 50)
    assert (figures.shown, figures.expected) == (3, 4)


def test_a_flag_that_a_screen_did_not_show_counts_as_unanswered() -> None:
    lost = replace(SUPERVISION, flags={"with no reply under way": replace(FLAGS, shown=397)})
    assert count_unanswered(BenchResult(supervision=lost)) == 3


def test_supervision_has_targets_and_lines_with_its_ratios() -> None:
    result = BenchResult(loads={LOAD.title: {OURS: FIGURES}}, supervision=SUPERVISION)
    targets = check_targets(PLAN, result)
    assert [one.met for one in targets[-3:]] == [True, True, False]
    text = "\n".join(format_result(result, targets))
    assert "1.50 of the time until its message is known to be stored" in text
    assert "at p95 0.020 of the first word" in text
