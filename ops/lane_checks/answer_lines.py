"""PURE. One answer of a drill or a check as a line for a terminal. No word of the reply is in it."""

from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.asking import Heard
from routing.errors import UNOPENED_THOUGHTS, unknown_finish_word


def drilled_line(answer: LaneAnswer) -> str:
    """One answer of a drill, the moment it is there."""
    return f"{answer.lane}: {came(answer)}"


def checked_line(lane: str, key: str, heard: Heard) -> str:
    """One answer of a check, the moment it is there."""
    return f"{lane}, {key}: {came(heard.answer('check', lane=lane))}"


def left_line(lane: str) -> str:
    """A lane that is asked nothing more."""
    return f"{lane}: silent twice; it is not asked the rest"


def named_failure(answer: LaneAnswer) -> str:
    """The class, and the provider's word where nobody knows it."""
    if word := unknown_finish_word(answer.code):
        return f"{answer.failure} (it ends replies with {word!r}, which is on no list)"
    return f"{answer.failure} ({answer.code})" if answer.code == UNOPENED_THOUGHTS else answer.failure


def came(answer: LaneAnswer) -> str:
    """What came of it."""
    if answer.failure:
        return f"FAILED: {named_failure(answer)}"
    said = f"answered, first word after {answer.first_word_ms} ms, {answer.words} words"
    return said if answer.ok else f"FAILED: {said}, but not as a fallback should"
