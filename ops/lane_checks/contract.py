"""The contract check: whether the lanes of a chain are interchangeable. The same questions to each, side by side."""

import asyncio
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from companion.engine import LaneCaller
from companion.prompt import least_window
from ops.lane_checks.answer_lines import checked_line, left_line, named_failure
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.asking import Heard, Manner, ask
from ops.lane_checks.languages import UNKNOWN, language
from ops.lane_checks.questions import QUESTIONS, Question
from routing.contracts import Lane
from routing.errors import FailureClass

SILENCES = 2
"""After so many a lane is left: each costs all of a turn's time, and says what the one before it said."""
LENGTH_MAY_DIFFER = 3.0
"""Times that the usual reply of one lane may be longer or shorter than the head's."""
MARKUP = re.compile(
    r"(?m)^\s{0,3}(#{1,6} |[-*+] |\d+[.)] |> |```)|\*\*|__|\]\(|<[a-z/]|[\U0001f300-\U0001faff]"
)
"""Markdown, HTML and emoji: none of it belongs into a plain text reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What one lane is like. Times in milliseconds."""

    lane: str
    whole: int
    asked: int
    failures: tuple[str, ...]
    streams: bool
    first_word_ms: int | None
    first_word_limit_ms: int
    words: int
    languages: tuple[str, ...]
    """For each question in its order, the language of the reply; `?` where it cannot be told."""
    foreign: tuple[str, ...]
    """Questions answered in another language than they were asked in."""
    plain: bool
    broken_rules: tuple[str, ...]
    shortened: int
    declines: tuple[str, ...]
    """For each question that may be declined: `in words`, `refused`, or a failure."""
    window_tokens: int = 0
    least_window_tokens: int = 0
    """Below which the character alone fills the lane's window."""
    no_time_for: tuple[str, ...] = ()
    """Questions that were not asked because the check's own time was up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that a participant would notice if this lane took over."""

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
class Compared:
    """The lanes side by side, the head first."""

    traits: tuple[Traits, ...]
    findings: tuple[Finding, ...]
    answers: tuple[LaneAnswer, ...]

    @property
    def is_interchangeable(self) -> bool:
        return not any(finding.matters for finding in self.findings)


async def check(
    lanes: Sequence[Lane],
    caller: LaneCaller,
    *,
    manner: Manner,
    questions: Sequence[Question] = QUESTIONS,
    at_most_s: float = math.inf,
    tell: Callable[[str], None] = lambda line: None,
) -> Compared:
    """Ask every lane every question. One question at a time on each lane; the lanes side by side.

    `at_most_s`: a question that might not be answered within it is not asked, and said to be left out.

    `tell` gets a line for each answer the moment it is there. A lane that was silent twice is asked nothing more.
    """
    until = asyncio.get_running_loop().time() + at_most_s
    asking = (_all(lane, caller, manner, questions, until=until, tell=tell) for lane in lanes)
    heard = await asyncio.gather(*asking)
    traits = tuple(
        traits_of(lane, questions, said, system=manner.system_prompt)
        for lane, said in zip(lanes, heard, strict=True)
    )
    answers = tuple(one.answer("check") for said in heard for one in said)
    return Compared(traits=traits, findings=tuple(compare(traits)), answers=answers)


async def _all(
    lane: Lane,
    caller: LaneCaller,
    manner: Manner,
    questions: Sequence[Question],
    *,
    until: float,
    tell: Callable[[str], None],
) -> list[Heard]:
    heard: list[Heard] = []
    for question in questions:
        left_s = until - asyncio.get_running_loop().time()
        if left_s < manner.seconds:
            break
        bounded = replace(manner, whole_s=min(manner.whole_s, left_s))
        answer = await ask(question.text, (lane,), caller, manner=bounded)
        if answer.failure is FailureClass.REPLY_TIMEOUT and left_s < lane.reply_ms / 1000:
            # It was cut by our time and not by its own: that says nothing about the lane.
            break
        heard.append(answer)
        tell(checked_line(lane.name, question.key, heard[-1]))
        if sum(one.is_silence for one in heard) == SILENCES and len(heard) < len(questions):
            tell(left_line(lane.name))
            break
    return heard


def traits_of(
    lane: Lane, questions: Sequence[Question], heard: Sequence[Heard], *, system: str = ""
) -> Traits:
    """What the replies of one lane say about it. PURE. `heard` may end early; the rest was not asked."""
    replies = list(zip(questions, heard, strict=False))
    # A refusal of what may be refused is an answer; it is compared by itself.
    failed = [
        f"{question.key}: {named_failure(one.answer('check'))}"
        for question, one in replies
        if one.failure is not None and not (question.may_decline and one.failure is FailureClass.REFUSED)
    ]
    rest = tuple(question.key for question in questions[len(heard) :])
    is_left = sum(one.is_silence for one in heard) >= SILENCES
    if is_left:
        failed += [f"{key}: not asked" for key in rest]
    whole = [one for one in heard if one.is_whole]
    languages = tuple(language(one.text) for one in heard)
    waits = [one.first_word_ms for one in heard if one.first_word_ms is not None]
    return Traits(
        lane=lane.name,
        whole=len(questions) - len(failed) - (0 if is_left else len(rest)),
        asked=len(questions),
        no_time_for=() if is_left else rest,
        failures=tuple(failed),
        # A short reply may come in one piece anywhere.
        streams=any(one.pieces > 2 for one in whole),
        first_word_ms=round(median(waits)) if waits else None,
        first_word_limit_ms=lane.first_word_ms,
        words=round(median(len(one.text.split()) for one in whole)) if whole else 0,
        languages=languages,
        foreign=tuple(
            f"{question.key} in {found}"
            for question, found in zip(questions, languages, strict=False)
            if found not in (UNKNOWN, question.language)
        ),
        plain=not any(MARKUP.search(one.text) for one in whole),
        broken_rules=tuple(question.key for question, one in replies if _breaks(question, one)),
        shortened=sum(one.truncated for one in heard),
        declines=tuple(_declined(one) for question, one in replies if question.may_decline),
        window_tokens=lane.context_tokens,
        least_window_tokens=least_window(system, max_tokens=lane.max_tokens),
    )


def compare(traits: Sequence[Traits]) -> Iterator[Finding]:
    """What each lane does by itself that it must not, and where it differs from the head. PURE."""
    head = traits[0]
    for one in traits:
        yield from _alone(one)
        if one is not head:
            yield from _beside(one, head)


def _alone(one: Traits) -> Iterator[Finding]:
    if one.window_tokens < one.least_window_tokens:
        said = f"the character needs a window of {one.least_window_tokens} tokens, and it has {one.window_tokens}"
        yield Finding(lane=one.lane, trait="window", said=said)
    if one.failures:
        said = f"{one.whole} of {one.asked} answered; {', '.join(one.failures)}"
        yield Finding(lane=one.lane, trait="answers", said=said)
    if one.no_time_for:
        said = f"no time was left to ask {', '.join(one.no_time_for)}; manage.py check_lanes asks everything"
        # A lane that was asked nothing at all has not been checked.
        yield Finding(lane=one.lane, trait="answers", said=said, matters=not one.whole)
    if one.whole and not one.streams:
        yield Finding(lane=one.lane, trait="streams", said="replies come in one piece at their end")
    if one.first_word_ms is not None and one.first_word_ms > one.first_word_limit_ms:
        said = f"the first word usually takes {one.first_word_ms} ms, and is given {one.first_word_limit_ms}"
        yield Finding(lane=one.lane, trait="first_word", said=said)
    if not one.plain:
        yield Finding(lane=one.lane, trait="plain_text", said="replies hold Markdown, HTML or emoji")
    if one.broken_rules:
        said = f"a boundary of the character was not kept: {', '.join(one.broken_rules)}"
        yield Finding(lane=one.lane, trait="boundaries", said=said)
    if one.shortened:
        replies = "1 reply was" if one.shortened == 1 else f"{one.shortened} replies were"
        said = f"{replies} cut at the length limit"
        yield Finding(lane=one.lane, trait="finish", said=said)


def _beside(one: Traits, head: Traits) -> Iterator[Finding]:
    if not one.whole or not head.whole:
        # Nothing to compare; that it did not answer is said already.
        return
    ratio = max(one.words, 1) / max(head.words, 1)
    if not 1 / LENGTH_MAY_DIFFER <= ratio <= LENGTH_MAY_DIFFER:
        said = f"replies have {one.words} words, those of {head.lane} {head.words}"
        yield Finding(lane=one.lane, trait="length", said=said)
    if any(a != b and UNKNOWN not in (a, b) for a, b in zip(one.languages, head.languages, strict=False)):
        said = f"answers in {_listed(one.languages)}; {head.lane} in {_listed(head.languages)}"
        yield Finding(lane=one.lane, trait="language", said=said)
    if len(one.declines) == len(head.declines) and one.declines != head.declines:
        said = f"declines {_listed(one.declines)}; {head.lane} {_listed(head.declines)}"
        yield Finding(lane=one.lane, trait="refusals", said=said)
    slower = (one.first_word_ms or 0) - (head.first_word_ms or 0)
    if slower > 1_000 and one.first_word_ms is not None and one.first_word_ms <= one.first_word_limit_ms:
        said = f"the first word takes {slower} ms longer than on {head.lane}"
        yield Finding(lane=one.lane, trait="first_word", said=said, matters=False)


def _breaks(question: Question, heard: Heard) -> bool:
    if not heard.is_whole:
        return False
    lacks = question.has_to is not None and not question.has_to.search(heard.text)
    return lacks or (question.must_not is not None and bool(question.must_not.search(heard.text)))


def _declined(heard: Heard) -> str:
    return "in words" if heard.failure is None else heard.failure.value


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
