"""PURE. What drills and checks found, as lines for a terminal and as documents for programs. No reply is in either."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ops.lane_checks.answer_lines import came
from ops.lane_checks.answers import LaneAnswer
from ops.lane_checks.contract import Compared, Traits
from ops.lane_checks.fallback import Drilled


def drill_text(found: Drilled) -> str:
    """A drill, for a person."""
    return "\n".join(_drill_lines(found))


def drill_document(found: Drilled) -> dict[str, Any]:
    """A drill, for programs."""
    return {
        "passed": found.passed,
        "has_fallback": found.chain is not None,
        "preset": found.preset,
        "head": found.head,
        "head_was_tried": found.head_was_tried,
        "lanes": [_plain(answer) for answer in found.lanes],
        "chain": _plain(found.chain) if found.chain else None,
    }


def check_text(found: Compared) -> str:
    """The lanes side by side, for a person."""
    return "\n".join(_check_lines(found))


def check_document(found: Compared) -> dict[str, Any]:
    """The lanes side by side, for programs."""
    return {
        "interchangeable": found.is_interchangeable,
        "lanes": [asdict(traits) for traits in found.traits],
        "findings": [asdict(finding) for finding in found.findings],
    }


def _drill_lines(found: Drilled) -> Iterator[str]:
    yield "Each lane alone:"
    width = max(len(answer.lane) for answer in found.lanes)
    for answer in found.lanes:
        yield f"  {answer.lane:<{width}}  {came(answer)}"
    yield ""
    if found.chain is None:
        yield f"The chain of {found.preset} has one lane, {found.head}: there is nothing to fall back on."
    elif found.chain.ok:
        yield (
            f"With {found.head} unplugged ({found.head_was_tried} connections refused), {found.chain.lane} "
            f"took over: {came(found.chain)}"
        )
    else:
        yield f"With {found.head} unplugged, no other lane took over: {came(found.chain)}"
    yield ""
    if found.passed:
        yield "The drill passed."
    elif all(answer.ok for answer in found.answers):
        yield "EVERY LANE ANSWERED, BUT NO FALLBACK WAS DRILLED: there is none."
    else:
        yield "THE DRILL FAILED."


def _check_lines(found: Compared) -> Iterator[str]:
    rows = [
        ("", [one.lane for one in found.traits]),
        ("answered", [f"{one.whole} of {one.asked}" for one in found.traits]),
        ("streams", [_yes(one.streams) for one in found.traits]),
        ("first word", [_ms(one.first_word_ms) for one in found.traits]),
        ("  is given", [_ms(one.first_word_limit_ms) for one in found.traits]),
        ("words", [str(one.words) for one in found.traits]),
        ("languages", [_languages(one) for one in found.traits]),
        ("plain text", [_yes(one.plain) for one in found.traits]),
        ("boundaries", [_yes(not one.broken_rules) for one in found.traits]),
        ("cut short", [str(one.shortened) for one in found.traits]),
        ("declines", [_few(one.declines) for one in found.traits]),
    ]
    widths = [max(len(cells[place]) for _, cells in rows) for place in range(len(found.traits))]
    for name, cells in rows:
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"{name:<12}{line}".rstrip()
    yield ""
    for finding in found.findings:
        yield f"{'MATTERS' if finding.matters else 'note   '}  {finding.lane}: {finding.said}"
    for one in found.traits:
        if one.foreign:
            said = ", ".join(one.foreign)
            yield f"note     {one.lane}: answered in another language than it was asked in: {said}"
    yield _conclusion(found)


def _conclusion(found: Compared) -> str:
    if len(found.traits) == 1:
        return (
            "Only one lane was checked. It answers as it should; there is no other to compare it with."
            if found.is_interchangeable
            else "THE ONLY LANE THAT WAS CHECKED DOES NOT ANSWER AS IT SHOULD."
        )
    return (
        "These lanes are interchangeable, as far as these questions can tell."
        if found.is_interchangeable
        else "THESE LANES ARE NOT INTERCHANGEABLE."
    )


def _languages(one: Traits) -> str:
    return f"{len(one.foreign)} not as asked" if one.foreign else "all as asked"


def _few(words: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "NO"


def _ms(value: int | None) -> str:
    return "-" if value is None else f"{value} ms"


def _plain(answer: LaneAnswer) -> dict[str, Any]:
    return asdict(answer) | {"at": answer.at.isoformat()}
