"""Which held questions are doubted, and which are given up once the message was answered without them."""

import pytest

from companion.doubt import GivenUp, classify_held_failure, give_up, is_doubted
from companion.engine import Answered, Broken
from companion.prompt import PromptDraft
from routing.adapters.scripted import finished
from routing.errors import CallFailed, FailureClass
from tests.unit.test_engine import play

F = FailureClass
DRAFT = PromptDraft(
    system="s",
    instruction_held="i",
    dialogue=[],
    held=["First?", "Second?"],
    question="Now?",
    doubted=frozenset({0}),
)


@pytest.mark.parametrize(
    ("tried_along", "failure", "doubted"),
    [
        (0, "", False),
        (1, F.BAD_REQUEST, True),
        (1, F.REFUSED, True),
        (1, F.TOO_LONG, True),
        (1, F.UNKNOWN, True),
        (1, F.EMPTY, True),
        (1, F.INCOMPLETE, True),
        (1, F.SERVER_ERROR, False),
        (2, F.SERVER_ERROR, True),
        (1, F.NETWORK, False),
        (2, F.MISCONFIGURED, True),
    ],
)
def test_a_question_is_doubted_at_once_where_the_class_speaks_of_it_and_else_the_second_time(
    tried_along: int, failure: str, doubted: bool
) -> None:
    assert is_doubted(tried_along, failure) is doubted


@pytest.mark.parametrize(
    ("failure", "status", "counts_as"),
    [
        (F.SERVER_ERROR, 200, F.UNKNOWN),
        (F.SERVER_ERROR, None, F.UNKNOWN),
        (F.SERVER_ERROR, 500, F.SERVER_ERROR),
        (F.MISCONFIGURED, 403, F.UNKNOWN),
        (F.MISCONFIGURED, 401, F.MISCONFIGURED),
        (F.BAD_REQUEST, 400, F.BAD_REQUEST),
    ],
)
def test_an_error_in_the_stream_and_a_403_may_be_a_refusal_in_unlisted_words(
    failure: FailureClass, status: int | None, counts_as: FailureClass
) -> None:
    assert classify_held_failure(failure, status) is counts_as


def test_only_a_doubted_question_that_failed_and_was_left_out_is_given_up() -> None:
    failed = {0: F.BAD_REQUEST, 1: F.BAD_REQUEST, 2: F.EMPTY}
    assert give_up({0, 2, 3}, {0, 1, 2, 3}, failed) == GivenUp(unanswerable=(0,), unasked=(2,))


async def test_a_call_that_fails_again_is_made_once_more_without_the_doubted_question() -> None:
    stage = await play([CallFailed(F.BAD_REQUEST)], ["Yes.", finished()], draft=DRAFT)
    assert isinstance(stage.end, Answered)
    assert [call.ask.messages[-1].text for call in stage.adapter.calls] == [
        "i\n\nFirst?\n\nSecond?\n\nNow?",
        "i\n\nSecond?\n\nNow?",
    ]
    assert (stage.end.held, stage.end.given_up) == ((1,), GivenUp(unanswerable=(0,)))
    assert stage.lanes == ["one", "one"], "a malformed request is never sent elsewhere"


async def test_if_that_fails_too_the_new_message_is_asked_alone_and_the_other_stays_held() -> None:
    broken = [CallFailed(F.BAD_REQUEST)]
    stage = await play(broken, broken, ["Yes.", finished()], draft=DRAFT)
    assert isinstance(stage.end, Answered)
    assert stage.adapter.calls[-1].ask.messages[-1].text == "Now?"
    assert (stage.end.held, stage.end.given_up) == ((), GivenUp(unanswerable=(0,)))
    assert stage.end.failed_along == {0: F.BAD_REQUEST, 1: F.BAD_REQUEST}


async def test_where_the_message_alone_fails_as_well_it_pauses_and_nothing_is_given_up() -> None:
    broken = [CallFailed(F.BAD_REQUEST)]
    stage = await play(broken, broken, broken, draft=DRAFT)
    assert isinstance(stage.end, Broken)
    assert len(stage.adapter.calls) == 3


async def test_after_a_word_nothing_is_asked_again_whatever_is_doubted() -> None:
    stage = await play(["Yes", CallFailed(F.BAD_REQUEST)], draft=DRAFT)
    assert isinstance(stage.end, Broken)
    assert (len(stage.adapter.calls), stage.end.failed_along) == (1, {})


async def test_where_nothing_is_doubted_a_malformed_request_pauses_at_once() -> None:
    undoubted = PromptDraft(system="s", instruction_held="i", dialogue=[], held=["First?"], question="Now?")
    stage = await play([CallFailed(F.BAD_REQUEST)], draft=undoubted)
    assert isinstance(stage.end, Broken)
    assert (len(stage.adapter.calls), stage.end.failed_along) == (1, {0: F.BAD_REQUEST})
