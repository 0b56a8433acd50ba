"""The contract check: asks each lane the same questions to find out whether the lanes are interchangeable."""

import asyncio
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from companion.engine import LaneCaller
from companion.prompt import min_context_tokens
from ops.lane_checks.answer_lines import format_abandoned_lane, format_check_answer, format_failure
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.lane_call import AskPolicy, LaneReply, ask
from ops.lane_checks.languages import UNKNOWN, detect_language
from ops.lane_checks.questions import QUESTIONS, Question
from routing.contracts import Lane
from routing.errors import FailureClass

MAX_SILENCES = 2
"""The check stops asking a lane after this many: each takes all of a turn's time."""
MAX_LENGTH_RATIO = 3.0
"""The median reply of a lane may be this many times longer or shorter than the head's."""
MARKUP = re.compile(
    r"(?m)^\s{0,3}(#{1,6} |[-*+] |\d+[.)] |> |```)|\*\*|__|\]\(|<[a-z/]|[\U0001f300-\U0001faff]"
)
"""Markdown, HTML and emoji, which a plain text reply must not contain."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneTraits:
    """Measured properties of one lane. Times in milliseconds."""

    lane: str
    whole: int
    """Questions answered as they may be: by a whole reply, or by a refusal where one is allowed."""
    measured: int
    """Whole replies. The text of a lane without one cannot be judged."""
    asked: int
    failures: tuple[str, ...]
    streams: bool
    first_word_ms: int | None
    first_word_limit_ms: int
    words: int
    languages: tuple[str, ...]
    """The language of each reply, in the order of the questions; `?` if unknown."""
    foreign: tuple[str, ...]
    """Questions answered in a language other than their own."""
    plain: bool
    broken_rules: tuple[str, ...]
    shortened: int
    declines: tuple[str, ...]
    """For each question that may be declined: `in words`, `refused`, or a failure."""
    window_tokens: int = 0
    least_window_tokens: int = 0
    """The context window that the character's prompt needs at least."""
    no_time_for: tuple[str, ...] = ()
    """Questions that were not asked because the check's time was up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneFinding:
    """A difference that a participant would notice if this lane took over."""

    lane: str
    trait: Literal[
        "answers",
        "streams",
        "first_word",
        "length",
        "language",
        "plain_text",
        "boundaries",
        "finish",
        "refusals",
        "window",
    ]
    said: str
    matters: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ContractReport:
    """The lanes side by side, the head first."""

    traits: tuple[LaneTraits, ...]
    findings: tuple[LaneFinding, ...]
    answers: tuple[LaneAnswer, ...]

    @property
    def is_interchangeable(self) -> bool:
        return not any(finding.matters for finding in self.findings)


async def check_contract(
    lanes: Sequence[Lane],
    caller: LaneCaller,
    *,
    policy: AskPolicy,
    questions: Sequence[Question] = QUESTIONS,
    limit_s: float = math.inf,
    on_line: Callable[[str], None] = lambda line: None,
) -> ContractReport:
    """Ask every lane every question: lanes in parallel, one question at a time on each.

    A question that might not be answered within `limit_s` is not asked, and reported as left out. A lane that was
    silent twice is not asked again. `on_line` gets a line of text for each answer when it arrives.
    """
    until = asyncio.get_running_loop().time() + limit_s
    calls = (_ask_all(lane, caller, policy, questions, until=until, on_line=on_line) for lane in lanes)
    replies = await asyncio.gather(*calls)
    traits = tuple(
        summarize_lane(lane, questions, of_lane, system=policy.system_prompt)
        for lane, of_lane in zip(lanes, replies, strict=True)
    )
    answers = tuple(reply.to_answer("check") for of_lane in replies for reply in of_lane)
    return ContractReport(traits=traits, findings=tuple(compare_lanes(traits)), answers=answers)


async def _ask_all(
    lane: Lane,
    caller: LaneCaller,
    policy: AskPolicy,
    questions: Sequence[Question],
    *,
    until: float,
    on_line: Callable[[str], None],
) -> list[LaneReply]:
    replies: list[LaneReply] = []
    for question in questions:
        left_s = until - asyncio.get_running_loop().time()
        if left_s < policy.seconds:
            break
        bounded = replace(policy, whole_s=min(policy.whole_s, left_s))
        reply = await ask(question.text, (lane,), caller, policy=bounded)
        if reply.failure is FailureClass.REPLY_TIMEOUT and left_s < lane.reply_ms / 1000:
            # The check's own limit cut this reply, which says nothing about the lane.
            break
        replies.append(reply)
        on_line(format_check_answer(lane.name, question.key, reply))
        if sum(reply.is_silent for reply in replies) == MAX_SILENCES and len(replies) < len(questions):
            on_line(format_abandoned_lane(lane.name))
            break
    return replies


def summarize_lane(
    lane: Lane, questions: Sequence[Question], replies: Sequence[LaneReply], *, system: str = ""
) -> LaneTraits:
    """PURE. Summarize the replies of one lane. `replies` may end early: the remaining questions were not asked."""
    asked = list(zip(questions, replies, strict=False))
    # A question that may be declined counts as answered when it is refused; refusals are compared separately.
    failed = [
        f"{question.key}: {format_failure(reply.to_answer('check'))}"
        for question, reply in asked
        if reply.failure is not None and not (question.may_decline and reply.failure is FailureClass.REFUSED)
    ]
    rest = tuple(question.key for question in questions[len(replies) :])
    is_abandoned = sum(reply.is_silent for reply in replies) >= MAX_SILENCES
    if is_abandoned:
        failed += [f"{key}: not asked" for key in rest]
    whole = [reply for reply in replies if reply.is_whole]
    languages = tuple(detect_language(reply.text) for reply in replies)
    first_words_ms = [reply.first_word_ms for reply in replies if reply.first_word_ms is not None]
    return LaneTraits(
        lane=lane.name,
        whole=len(questions) - len(failed) - (0 if is_abandoned else len(rest)),
        measured=len(whole),
        asked=len(questions),
        no_time_for=() if is_abandoned else rest,
        failures=tuple(failed),
        # A short reply may come in one piece on any lane.
        streams=any(reply.pieces > 2 for reply in whole),
        first_word_ms=round(median(first_words_ms)) if first_words_ms else None,
        first_word_limit_ms=lane.first_word_ms,
        words=round(median(len(reply.text.split()) for reply in whole)) if whole else 0,
        languages=languages,
        foreign=tuple(
            f"{question.key} in {language}"
            for question, language in zip(questions, languages, strict=False)
            if language not in (UNKNOWN, question.language)
        ),
        plain=not any(MARKUP.search(reply.text) for reply in whole),
        broken_rules=tuple(question.key for question, reply in asked if _breaks_rule(question, reply)),
        shortened=sum(reply.truncated for reply in replies),
        declines=tuple(_name_decline(reply) for question, reply in asked if question.may_decline),
        window_tokens=lane.context_tokens,
        least_window_tokens=min_context_tokens(system, max_tokens=lane.max_tokens),
    )


def compare_lanes(traits: Sequence[LaneTraits]) -> Iterator[LaneFinding]:
    """PURE. Find what is wrong with each lane, and where it differs from the head."""
    head = traits[0]
    for one in traits:
        yield from _check_lane(one)
        if one is not head:
            yield from _compare_with_head(one, head)


def _check_lane(one: LaneTraits) -> Iterator[LaneFinding]:
    if one.window_tokens < one.least_window_tokens:
        said = f"the character needs a window of {one.least_window_tokens} tokens, and it has {one.window_tokens}"
        yield LaneFinding(lane=one.lane, trait="window", said=said)
    if one.failures:
        said = f"{one.whole} of {one.asked} answered; {', '.join(one.failures)}"
        yield LaneFinding(lane=one.lane, trait="answers", said=said)
    if one.no_time_for:
        said = f"no time was left to ask {', '.join(one.no_time_for)}; manage.py check_lanes asks everything"
        # If no question was asked, the lane has not been checked.
        yield LaneFinding(lane=one.lane, trait="answers", said=said, matters=not one.whole)
    if one.measured and not one.streams:
        yield LaneFinding(lane=one.lane, trait="streams", said="replies come in one piece at their end")
    if one.first_word_ms is not None and one.first_word_ms > one.first_word_limit_ms:
        said = f"the first word usually takes {one.first_word_ms} ms, and is given {one.first_word_limit_ms}"
        yield LaneFinding(lane=one.lane, trait="first_word", said=said)
    if not one.plain:
        yield LaneFinding(lane=one.lane, trait="plain_text", said="replies hold Markdown, HTML or emoji")
    if one.broken_rules:
        said = f"a boundary of the character was not kept: {', '.join(one.broken_rules)}"
        yield LaneFinding(lane=one.lane, trait="boundaries", said=said)
    if one.shortened:
        replies = "1 reply was" if one.shortened == 1 else f"{one.shortened} replies were"
        said = f"{replies} cut at the length limit"
        yield LaneFinding(lane=one.lane, trait="finish", said=said)


def _compare_with_head(one: LaneTraits, head: LaneTraits) -> Iterator[LaneFinding]:
    if not one.measured or not head.measured:
        # Nothing to compare. `_check_lane` reports the missing answers.
        return
    ratio = max(one.words, 1) / max(head.words, 1)
    if not 1 / MAX_LENGTH_RATIO <= ratio <= MAX_LENGTH_RATIO:
        said = f"replies have {one.words} words, those of {head.lane} {head.words}"
        yield LaneFinding(lane=one.lane, trait="length", said=said)
    if any(a != b and UNKNOWN not in (a, b) for a, b in zip(one.languages, head.languages, strict=False)):
        said = f"answers in {_join(one.languages)}; {head.lane} in {_join(head.languages)}"
        yield LaneFinding(lane=one.lane, trait="language", said=said)
    if len(one.declines) == len(head.declines) and one.declines != head.declines:
        said = f"declines {_join(one.declines)}; {head.lane} {_join(head.declines)}"
        yield LaneFinding(lane=one.lane, trait="refusals", said=said)
    slower = (one.first_word_ms or 0) - (head.first_word_ms or 0)
    if slower > 1_000 and one.first_word_ms is not None and one.first_word_ms <= one.first_word_limit_ms:
        said = f"the first word takes {slower} ms longer than on {head.lane}"
        yield LaneFinding(lane=one.lane, trait="first_word", said=said, matters=False)


def _breaks_rule(question: Question, reply: LaneReply) -> bool:
    if not reply.is_whole:
        return False
    lacks = question.has_to is not None and not question.has_to.search(reply.text)
    return lacks or (question.must_not is not None and bool(question.must_not.search(reply.text)))


def _name_decline(reply: LaneReply) -> str:
    return "in words" if reply.failure is None else reply.failure.value


def _join(words: Sequence[str]) -> str:
    return ", ".join(words)
