"""PURE. Results of drills and checks as lines of text and as JSON values, without any reply."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ops.lane_checks.answer_lines import format_answer
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.contract import ContractReport, LaneTraits
from ops.lane_checks.fallback import DrillResult

UNKNOWN = "-"
"""Stands in the table where nothing was measured."""


def format_drill(result: DrillResult) -> str:
    """A drill as lines of text."""
    return "\n".join(_drill_lines(result))


def drill_document(result: DrillResult) -> dict[str, Any]:
    """A drill as JSON values."""
    return {
        "passed": result.passed,
        "has_fallback": result.chain is not None,
        "preset": result.preset,
        "head": result.head,
        "head_was_tried": result.head_was_tried,
        "lanes": [_json_values(answer) for answer in result.lanes],
        "chain": _json_values(result.chain) if result.chain else None,
    }


def format_check(report: ContractReport) -> str:
    """A contract check as lines of text, one column for each lane."""
    return "\n".join(_check_lines(report))


def check_document(report: ContractReport) -> dict[str, Any]:
    """A contract check as JSON values."""
    return {
        "interchangeable": report.is_interchangeable,
        "lanes": [asdict(traits) for traits in report.traits],
        "findings": [asdict(finding) for finding in report.findings],
    }


def _drill_lines(result: DrillResult) -> Iterator[str]:
    yield "Each lane alone:"
    width = max(len(answer.lane) for answer in result.lanes)
    for answer in result.lanes:
        yield f"  {answer.lane:<{width}}  {format_answer(answer)}"
    yield ""
    if result.chain is None:
        yield f"The chain of {result.preset} has one lane, {result.head}: there is nothing to fall back on."
    elif result.chain.ok:
        yield (
            f"With {result.head} unplugged ({result.head_was_tried} connections refused), {result.chain.lane} "
            f"took over: {format_answer(result.chain)}"
        )
    else:
        yield f"With {result.head} unplugged, no other lane took over: {format_answer(result.chain)}"
    yield ""
    if result.passed:
        yield "The drill passed."
    elif all(answer.ok for answer in result.answers):
        yield "EVERY LANE ANSWERED, BUT NO FALLBACK WAS DRILLED: there is none."
    else:
        yield "THE DRILL FAILED."


def _check_lines(report: ContractReport) -> Iterator[str]:
    rows = [
        ("", [one.lane for one in report.traits]),
        ("answered", [f"{one.whole} of {one.asked}" for one in report.traits]),
        ("streams", [_judge(one, one.streams) for one in report.traits]),
        ("first word", [_ms(one.first_word_ms) for one in report.traits]),
        ("  is given", [_ms(one.first_word_limit_ms) for one in report.traits]),
        ("words", [str(one.words) if one.measured else UNKNOWN for one in report.traits]),
        ("languages", [_languages(one) for one in report.traits]),
        ("plain text", [_judge(one, one.plain) for one in report.traits]),
        ("boundaries", [_judge(one, not one.broken_rules) for one in report.traits]),
        ("cut short", [str(one.shortened) for one in report.traits]),
        ("declines", [_join_unique(one.declines) for one in report.traits]),
    ]
    widths = [max(len(cells[place]) for _, cells in rows) for place in range(len(report.traits))]
    for name, cells in rows:
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"{name:<12}{line}".rstrip()
    yield ""
    for finding in report.findings:
        yield f"{'MATTERS' if finding.matters else 'note   '}  {finding.lane}: {finding.said}"
    for one in report.traits:
        if one.foreign:
            questions = ", ".join(one.foreign)
            yield f"note     {one.lane}: answered in another language than it was asked in: {questions}"
    yield _conclusion(report)


def _conclusion(report: ContractReport) -> str:
    if len(report.traits) == 1:
        return (
            "Only one lane was checked. It answers as it should; there is no other to compare it with."
            if report.is_interchangeable
            else "THE ONLY LANE THAT WAS CHECKED DOES NOT ANSWER AS IT SHOULD."
        )
    return (
        "These lanes are interchangeable, as far as these questions can tell."
        if report.is_interchangeable
        else "THESE LANES ARE NOT INTERCHANGEABLE."
    )


def _languages(one: LaneTraits) -> str:
    if not one.measured:
        return UNKNOWN
    return f"{len(one.foreign)} not as asked" if one.foreign else "all as asked"


def _join_unique(words: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _judge(one: LaneTraits, is_so: bool) -> str:
    # Without a whole reply nothing was broken either, which must not read as a pass.
    if not one.measured:
        return UNKNOWN
    return "yes" if is_so else "NO"


def _ms(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value} ms"


def _json_values(answer: LaneAnswer) -> dict[str, Any]:
    return asdict(answer) | {"at": answer.at.isoformat()}
