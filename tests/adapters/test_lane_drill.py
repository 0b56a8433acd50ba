"""The fallback drill and the contract check over real HTTP, against two providers (R10, R11)."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.contract import ContractReport, check_contract
from ops.lane_checks.fallback import QUESTION, DrillResult, run_drill
from ops.lane_checks.formatting import check_document, drill_document, format_check, format_drill
from ops.lane_checks.lane_call import AskPolicy
from ops.lane_checks.questions import QUESTIONS, Question
from routing.adapters import build_adapters
from routing.adapters.transport import Transport
from routing.chain import Caller
from routing.contracts import Lane, Preset
from routing.lanes import Routing
from tests.adapters.calls import lane_at
from tests.processes import Rehearsal, start_rehearsal

POLICY = AskPolicy(
    system_prompt="You are Robin.",
    instruction_held="First:",
    seconds=10,
    attempts=3,
    now=lambda: datetime(2026, 5, 4, 2, 0, tzinfo=UTC),
)


@pytest.fixture
def transport() -> Transport:
    """The production transport; other tests prove the adapters over both."""
    return "aiohttp"


@pytest.fixture(scope="session")
def _other() -> Any:
    with start_rehearsal() as provider:
        yield provider


@pytest.fixture
def other(_other: Rehearsal) -> Rehearsal:
    _other.clear()
    return _other


@pytest.fixture
def lanes(lane: Lane, other: Rehearsal) -> tuple[Lane, Lane]:
    """A head lane, and a second one at another provider on the other wire."""
    return replace(lane, name="head"), lane_at(other.url, name="second", adapter="anthropic")


@pytest.fixture
async def caller(client: httpx.AsyncClient) -> AsyncIterator[Caller]:
    yield Caller(build_adapters(client))


async def drill_lanes(caller: Caller, *lanes: Lane) -> DrillResult:
    names = tuple(lane.name for lane in lanes)
    routing = Routing(
        lanes={lane.name: lane for lane in lanes}, presets={"normal": Preset(name="normal", chain=names)}
    )
    return await run_drill(
        routing, caller, build_caller=lambda client: Caller(build_adapters(client)), policy=POLICY
    )


async def check_lanes(
    caller: Caller, *lanes: Lane, questions: Sequence[Question] = QUESTIONS
) -> ContractReport:
    return await check_contract(lanes, caller, policy=replace(POLICY, attempts=1), questions=questions)


def list_traits(found: ContractReport) -> list[tuple[str, str, bool]]:
    return [(finding.lane, finding.trait, finding.matters) for finding in found.findings]


async def test_every_lane_is_asked_a_question_of_ours_and_the_chain_falls_back_without_its_head(
    caller: Caller, lanes: tuple[Lane, Lane], provider: Rehearsal, other: Rehearsal
) -> None:
    found = await drill_lanes(caller, *lanes)
    assert found.passed
    assert [(answer.lane, answer.how, answer.ok) for answer in found.answers] == [
        ("head", "drill", True),
        ("second", "drill", True),
        ("second", "chain", True),
    ]
    assert all(answer.words > 5 and answer.first_word_ms is not None for answer in found.answers)
    # The head was called once, alone; unplugged, it was tried and nothing reached it.
    assert len(provider.list_requests()) == 1
    assert len(other.list_requests()) == 2
    assert found.head_was_tried >= 1
    assert {
        asked["messages"][-1]["content"] for asked in provider.list_requests() + other.list_requests()
    } == {QUESTION}


async def test_a_lane_that_breaks_off_fails_the_drill(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    other.inject({"cut": "no_finish", "after": 4, "pace_ms": 0})
    found = await drill_lanes(caller, *lanes)
    assert not found.passed
    assert [(answer.lane, answer.failure) for answer in found.answers if not answer.ok] == [
        ("second", "incomplete"),
        ("second", "incomplete"),
    ]
    assert "FAILED" in format_drill(found)


async def test_one_lost_connection_does_not_condemn_a_lane(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    other.inject({"disconnect": "reset"}, times=1)
    assert (await drill_lanes(caller, *lanes)).passed


async def test_a_lane_without_its_key_fails_and_is_not_routed_around(
    caller: Caller, lanes: tuple[Lane, Lane]
) -> None:
    head, second = lanes
    found = await drill_lanes(caller, head, replace(second, api_key_env="NOT_SET_IN_TESTS"))
    assert [answer.failure for answer in found.answers] == ["", "misconfigured", "misconfigured"]


async def test_a_chain_of_one_lane_has_nothing_to_fall_back_on_and_says_so(
    caller: Caller, lanes: tuple[Lane, Lane]
) -> None:
    found = await drill_lanes(caller, lanes[0])
    assert found.chain is None and not found.passed
    assert "nothing to fall back on" in format_drill(found)
    assert "NO FALLBACK WAS DRILLED" in format_drill(found) and "passed" not in format_drill(found)
    document = drill_document(found)
    assert (document["chain"], document["passed"], document["has_fallback"]) == (None, False, False)


async def test_a_lane_that_ends_with_a_word_of_no_list_is_told_of_by_that_word(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    other.inject({"finish": "Eos_X", "words": 5, "pace_ms": 0})
    assert "it ends replies with 'eos_x', which is on no list" in format_drill(
        await drill_lanes(caller, *lanes)
    )
    found = await check_lanes(caller, *lanes, questions=QUESTIONS[:1])
    assert "it ends replies with 'eos_x', which is on no list" in format_check(found)


async def test_a_drill_tells_of_each_lane_the_moment_it_has_answered(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    head, second = lanes
    routing = Routing(
        lanes={"head": head, "second": second},
        presets={"normal": Preset(name="normal", chain=("head", "second"))},
    )
    told: list[LaneAnswer] = []
    other.inject({"first_word_s": 0.6})
    await run_drill(
        routing,
        caller,
        build_caller=lambda client: Caller(build_adapters(client)),
        policy=POLICY,
        on_answer=told.append,
    )
    assert [answer.lane for answer in told] == ["head", "second"]


async def test_a_silent_lane_is_left_after_two_silences_and_each_answer_is_told_as_it_comes(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    other.inject({"hang": "before_word"})
    told: list[str] = []
    policy = replace(POLICY, attempts=1, seconds=1.5)
    found = await check_contract(lanes, caller, policy=policy, questions=QUESTIONS, on_line=told.append)
    assert [line for line in told if line.startswith("second")] == [
        "second, small_talk: FAILED: first_word_timeout",
        "second, long: FAILED: first_word_timeout",
        "second: silent twice; it is not asked the rest",
    ]
    assert len([line for line in told if line.startswith("head, ")]) == len(QUESTIONS)
    assert (found.traits[0].whole, found.traits[1].whole, found.traits[1].asked) == (8, 0, 8)
    assert "another_part: not asked" in format_check(found)
    assert not found.is_interchangeable
    assert len(other.list_requests()) == 2


async def test_a_lane_whose_window_the_character_fills_is_named(
    caller: Caller, lanes: tuple[Lane, Lane]
) -> None:
    head, second = lanes
    found = await check_lanes(caller, head, replace(second, context_tokens=1_000), questions=QUESTIONS[:1])
    assert ("second", "window", True) in list_traits(found)
    assert ("head", "window", True) not in list_traits(found)


async def test_two_lanes_that_answer_alike_are_interchangeable(
    caller: Caller, lanes: tuple[Lane, Lane]
) -> None:
    found = await check_lanes(caller, *lanes)
    assert found.is_interchangeable, format_check(found)
    assert [one.whole for one in found.traits] == [8, 8]
    assert {answer.how for answer in found.answers} == {"check"}
    assert check_document(found)["interchangeable"] is True


async def test_a_lane_that_was_checked_alone_is_not_said_to_be_interchangeable(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    sound = format_check(await check_lanes(caller, lanes[0], questions=QUESTIONS[:2]))
    assert "Only one lane was checked." in sound
    other.inject({"status": 503})
    failing = format_check(await check_lanes(caller, lanes[1], questions=QUESTIONS[:2]))
    assert "THE ONLY LANE THAT WAS CHECKED DOES NOT ANSWER AS IT SHOULD." in failing
    assert "INTERCHANGEABLE" not in (sound + failing).upper()


LONG_GERMAN = "Das ist nicht leicht, und es ist gut, dass du es mir sagst. Ich bin ein program. " * 2


@pytest.mark.parametrize(
    ("fault", "trait"),
    [
        ({"status": 503}, "answers"),
        ({"finish": None}, "answers"),
        ({"finish": "length"}, "finish"),
        ({"say": "**You** are right, and I am a program that is here for you to talk to."}, "plain_text"),
        ({"say": "- It is good that you are here.\n- I am a program."}, "plain_text"),
        ({"say": "I am a person, and I promise to keep it."}, "boundaries"),
        ({"say": LONG_GERMAN}, "language"),
        ({"say": "I am a program.", "split": 100}, "streams"),
        ({"words": 500, "pace_ms": 0}, "length"),
        ({"first_word_s": 0.8}, "first_word"),
    ],
)
async def test_a_difference_that_a_participant_would_notice_is_named(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal, *, fault: dict[str, Any], trait: str
) -> None:
    head, second = lanes
    other.inject(fault)
    found = await check_lanes(caller, head, replace(second, first_word_ms=700), questions=QUESTIONS[:3])
    assert not found.is_interchangeable
    assert ("second", trait, True) in list_traits(found), list_traits(found)
    assert "NOT INTERCHANGEABLE" in format_check(found)


async def test_a_lane_that_refuses_where_the_other_declines_in_words_is_named(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    other.inject({"finish": "content_filter", "words": 6}, match="Which dose")
    found = await check_lanes(caller, *lanes)
    assert list_traits(found) == [("second", "refusals", True)]
    assert "refused" in format_check(found)


async def test_a_lane_that_answered_nothing_is_called_neither_sound_nor_unsound(
    caller: Caller, lanes: tuple[Lane, Lane], other: Rehearsal
) -> None:
    other.inject({"status": 503})
    found = await check_lanes(caller, *lanes, questions=QUESTIONS[:3])
    table = {line[:12].strip(): line.split()[-1] for line in format_check(found).splitlines()[1:11]}
    judged = {name: table[name] for name in ("streams", "words", "languages", "plain text", "boundaries")}
    assert judged == dict.fromkeys(judged, "-")
    assert list_traits(found) == [("second", "answers", True)]


async def test_neither_table_nor_document_holds_a_word_of_a_reply(
    caller: Caller, lanes: tuple[Lane, Lane], provider: Rehearsal, other: Rehearsal
) -> None:
    for one in (provider, other):
        one.inject({"say": "I am a program with a marmalade sandwich."})
    found = await check_lanes(caller, *lanes, questions=QUESTIONS[:2])
    assert "marmalade" not in format_check(found) + str(check_document(found)) + str(found.answers)
