"""How things stand on the lanes, as lines for a terminal and as a document for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from ops.selections.board import Board, Serving, Standing, for_status
from ops.text import escape_controls, format_age, format_length, format_time
from routing.lanes import Routing
from routing.selection import Selection, to_document

STATES: Mapping[str, str] = {
    "closed": "is called",
    "open": "is left alone: it failed",
    "half_open": "is being tried again",
    "resting": "is left alone: it asked for that",
}
"""What each state of a breaker means for the lane."""


SCRIPTED = (
    "SCRIPTED REPLIES: no routing file is set, so the rehearsal provider answers people. No model does. "
    "Set COMPANION_ROUTING."
)


def text(seen: Board, routing: Routing) -> str:
    """Everything, for a person at a terminal. What people wrote cannot steer the terminal."""
    return "\n".join(_lines(seen, routing))


def document(seen: Board, routing: Routing) -> dict[str, Any]:
    """The same for programs."""
    presets = {
        name: {"chain": list(preset.chain), "marking": preset.marking, "ceiling": preset.ceiling}
        for name, preset in routing.presets.items()
    }
    return {
        **for_status(seen),
        "selected": to_document(seen.newest) if seen.newest.version else None,
        "lanes": {lane.lane: _plain(asdict(lane)) for lane in seen.lanes},
        "presets": presets,
        "processes": [asdict(one) for one in seen.serving],
    }


def line_of(chosen: Selection) -> str:
    """A selection in the history."""
    until = f", until {format_time(chosen.expires_at)}" if chosen.expires_at else ""
    return (
        f"{chosen.version:>4}  {format_time(chosen.at)}  {chosen.preset}, "
        f"selected by {escape_controls(chosen.by)}{until}: {escape_controls(chosen.reason)}"
    )


def left(seen: Board) -> str:
    """How long what is in force lasts, in words; empty if it does not end."""
    ends = seen.in_force.expires_at
    return format_length(round((ends - seen.now).total_seconds())) if ends and seen.is_pinned else ""


def drill(lane: Standing, now: datetime) -> str:
    """What its last drill said."""
    if lane.drill_at is None:
        return "never drilled"
    if lane.is_trusted:
        return f"drill passed {format_age(lane.drill_at, now)}"
    return (
        f"NOT TRUSTED: its drill failed ({lane.drill_failure or 'no reply'}) {format_age(lane.drill_at, now)}"
    )


def first_words(lane: Standing) -> str:
    """Its times to the first word in the last hour."""
    if lane.first_word_p50_ms is None:
        return "no reply in the last hour"
    return (
        f"first word within {lane.first_word_p50_ms} ms for half, {lane.first_word_p95_ms} ms for 95 of 100"
    )


def _lines(seen: Board, routing: Routing) -> Iterator[str]:
    chosen = seen.in_force
    if seen.is_scripted:
        yield SCRIPTED
    if seen.weakness:
        yield f"NO FALLBACK: in the normal chain, {seen.weakness}."
    says = "The table says" if seen.unrecorded else "In force"
    if seen.unrecorded:
        yield f"NOT ON RECORD: {unrecorded(seen)}"
        yield "Was the database restored? `manage.py route revert` takes every process back to normal."
    if chosen.version == 0:
        yield f"{says}: {seen.preset}. Nothing has been selected yet."
    else:
        yield f"{says}: {seen.preset} (version {chosen.version})"
        by = escape_controls(chosen.by)
        yield f"  selected by {by} at {format_time(chosen.at)}: {escape_controls(chosen.reason)}"
    if chosen.expires_at and seen.is_pinned:
        yield f"  until {format_time(chosen.expires_at)}: {left(seen)} more; then normal by itself"
    elif chosen.expires_at:
        yield f"  {chosen.preset} was over at {format_time(chosen.expires_at)}"
    if seen.newest.version != chosen.version:
        yield (
            f"  NOT IN FORCE: version {seen.newest.version} ({escape_controls(seen.newest.preset)}) makes no sense to "
            "this release. Select a preset that it has."
        )
    yield ""
    yield "Lanes (the number is the place in the chain in force):"
    for lane in sorted(seen.lanes, key=lambda one: one.place or 99):
        yield from _lane(lane, seen.now)
    yield ""
    yield "Presets:"
    for name, preset in routing.presets.items():
        turns = "turn" if preset.ceiling == 1 else "turns"
        marks = [f"at most {preset.ceiling} {turns} at once"] * (preset.ceiling is not None)
        marks += ["replies are marked as reduced"] * (preset.marking == "reduced")
        yield f"  {name:<14} {' then '.join(preset.chain)}{'; ' if marks else ''}{', '.join(marks)}"
    yield ""
    yield _processes(seen)


def _lane(lane: Standing, now: datetime) -> Iterator[str]:
    place = f"{lane.place}." if lane.place else "  "
    yield (
        f"  {place} {lane.lane:<18} {STATES[lane.state]}"
        f"{f' until {format_time(lane.until)}' if lane.until else ''}; "
        f"last answered: {format_age(lane.last_answered_at, now)}"
    )
    failures = f"; {lane.failures} failures count now" if lane.failures else ""
    yield f"     {'':<18} {first_words(lane)}; {drill(lane, now)}{failures}"


def _processes(seen: Board) -> str:
    if not seen.serving:
        return "Web processes: none is running."
    if not seen.behind:
        return f"Web processes: {len(seen.serving)}, and every one serves version {seen.in_force.version}."
    told = ", ".join(served(one) for one in seen.behind)
    follow = "" if seen.unrecorded else " They follow within ten seconds, or their log says why."
    return f"Web processes: {len(seen.serving)}; {told}.{follow}"


def served(one: Serving) -> str:
    """What one web process serves, in words."""
    preset = f" ({escape_controls(one.preset)})" if one.preset else ""
    return f"{one.process[:8]} serves version {one.version}{preset}"


def unrecorded(seen: Board) -> str:
    """What is served although no row says so; empty if there is nothing of the kind."""
    if not seen.unrecorded:
        return ""
    told = ", ".join(served(one) for one in seen.unrecorded)
    return (
        f"of {len(seen.serving)} web processes, {told}, from the copy on disk. "
        f"The last row in the table is version {seen.newest.version} ({escape_controls(seen.newest.preset)})."
    )


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in facts.items()
    }
