"""PURE. One answer of a drill or a check as a line of text, without any word of the reply."""

from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.lane_call import LaneReply
from routing.errors import UNOPENED_THOUGHTS, unknown_finish_word


def format_drill_answer(answer: LaneAnswer) -> str:
    """One answer of a drill."""
    return f"{answer.lane}: {format_answer(answer)}"


def format_check_answer(lane: str, key: str, reply: LaneReply) -> str:
    """One answer of a check. `key` names the question."""
    return f"{lane}, {key}: {format_answer(reply.to_answer('check', lane=lane))}"


def format_abandoned_lane(lane: str) -> str:
    """A lane that the check stops asking."""
    return f"{lane}: silent twice; it is not asked the rest"


def format_failure(answer: LaneAnswer) -> str:
    """The failure class, with the provider's finish reason where it is unknown."""
    if word := unknown_finish_word(answer.code):
        return f"{answer.failure} (it ends replies with {word!r}, which is on no list)"
    return f"{answer.failure} ({answer.code})" if answer.code == UNOPENED_THOUGHTS else answer.failure


def format_answer(answer: LaneAnswer) -> str:
    """The result of one question."""
    if answer.failure:
        return f"FAILED: {format_failure(answer)}"
    result = f"answered, first word after {answer.first_word_ms} ms, {answer.words} words"
    return result if answer.ok else f"FAILED: {result}, but not as a fallback should"
