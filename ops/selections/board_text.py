"""The board as lines of text and as JSON values."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from ops.catalogue_marks import gettext_noop
from ops.selections.board import Board, LaneStatus, ServingProcess, board_summary
from ops.text import escape_controls, format_age, format_length, format_time
from routing.lanes import Routing
from routing.selection import Selection, to_document

STATES: Mapping[str, str] = {
    "closed": gettext_noop("is called"),
    "open": gettext_noop("is left alone: it failed"),
    "half_open": gettext_noop("is being tried again"),
    "resting": gettext_noop("is left alone: it asked for that"),
}
"""What each state of its breaker means for a lane."""


SCRIPTED = (
    "SCRIPTED REPLIES: no routing file is set, so the rehearsal provider answers people. No model does. "
    "Set COMPANION_ROUTING."
)


def format_board(board: Board, routing: Routing) -> str:
    """The whole board as lines. Control characters in typed text are escaped."""
    return "\n".join(_format_lines(board, routing))


def board_document(board: Board, routing: Routing) -> dict[str, Any]:
    """The whole board as JSON values."""
    presets = {
        name: {"chain": list(preset.chain), "marking": preset.marking, "ceiling": preset.ceiling}
        for name, preset in routing.presets.items()
    }
    return {
        **board_summary(board),
        "selected": to_document(board.newest) if board.newest.version else None,
        "lanes": {lane.lane: _json_values(asdict(lane)) for lane in board.lanes},
        "presets": presets,
        "processes": [asdict(serving) for serving in board.serving],
    }


def format_selection(chosen: Selection) -> str:
    """A selection as one line of the history."""
    until = f", until {format_time(chosen.expires_at)}" if chosen.expires_at else ""
    return (
        f"{chosen.version:>4}  {format_time(chosen.at)}  {chosen.preset}, "
        f"selected by {escape_controls(chosen.by)}{until}: {escape_controls(chosen.reason)}"
    )


def format_time_left(board: Board) -> str:
    """How long the selection in force still lasts; empty if it does not end."""
    ends = board.in_force.expires_at
    return format_length(round((ends - board.now).total_seconds())) if ends and board.is_pinned else ""


def format_last_drill(lane: LaneStatus, now: datetime) -> str:
    """The result of its last drill."""
    if lane.drill_at is None:
        return gettext("never drilled")
    if lane.is_trusted:
        return gettext("drill passed {ago}").format(ago=format_age(lane.drill_at, now))
    return gettext("NOT TRUSTED: its drill failed ({why}) {ago}").format(
        why=lane.drill_failure or gettext("no reply"), ago=format_age(lane.drill_at, now)
    )


def format_first_words(lane: LaneStatus) -> str:
    """Its times to the first word in the last hour."""
    if lane.first_word_p50_ms is None:
        return gettext("no reply in the last hour")
    return gettext("first word within {half} ms for half, {most} ms for 95 of 100").format(
        half=lane.first_word_p50_ms, most=lane.first_word_p95_ms
    )


def _format_lines(board: Board, routing: Routing) -> Iterator[str]:
    chosen = board.in_force
    if board.is_scripted:
        yield SCRIPTED
    if board.weakness:
        yield f"NO FALLBACK: in the normal chain, {board.weakness}."
    label = "The table says" if board.unrecorded else "In force"
    if board.unrecorded:
        yield f"NOT ON RECORD: {format_unrecorded(board)}"
        yield "Was the database restored? `manage.py route revert` takes every process back to normal."
    if chosen.version == 0:
        yield f"{label}: {board.preset}. Nothing has been selected yet."
    else:
        yield f"{label}: {board.preset} (version {chosen.version})"
        by = escape_controls(chosen.by)
        yield f"  selected by {by} at {format_time(chosen.at)}: {escape_controls(chosen.reason)}"
    if chosen.expires_at and board.is_pinned:
        yield f"  until {format_time(chosen.expires_at)}: {format_time_left(board)} more; then normal by itself"
    elif chosen.expires_at:
        yield f"  {chosen.preset} was over at {format_time(chosen.expires_at)}"
    if board.newest.version != chosen.version:
        yield (
            f"  NOT IN FORCE: version {board.newest.version} ({escape_controls(board.newest.preset)}), "
            "which this release cannot use. Select a preset that it has."
        )
    yield ""
    yield "Lanes (the number is the place in the chain in force):"
    for lane in sorted(board.lanes, key=lambda status: status.place or 99):
        yield from _format_lane(lane, board.now)
    yield ""
    yield "Presets:"
    for name, preset in routing.presets.items():
        turns = "turn" if preset.ceiling == 1 else "turns"
        marks = [f"at most {preset.ceiling} {turns} at once"] * (preset.ceiling is not None)
        marks += ["replies are marked as reduced"] * (preset.marking == "reduced")
        yield f"  {name:<14} {' then '.join(preset.chain)}{'; ' if marks else ''}{', '.join(marks)}"
    yield ""
    yield _format_processes(board)


def _format_lane(lane: LaneStatus, now: datetime) -> Iterator[str]:
    place = f"{lane.place}." if lane.place else "  "
    yield (
        f"  {place} {lane.lane:<18} {STATES[lane.state]}"
        f"{f' until {format_time(lane.until)}' if lane.until else ''}; "
        f"last answered: {format_age(lane.last_answered_at, now)}"
    )
    failures = f"; {lane.failures} failures count now" if lane.failures else ""
    yield f"     {'':<18} {format_first_words(lane)}; {format_last_drill(lane, now)}{failures}"


def _format_processes(board: Board) -> str:
    if not board.serving:
        return "Web processes: none is running."
    if not board.behind:
        return f"Web processes: {len(board.serving)}, and every one serves version {board.in_force.version}."
    behind = ", ".join(format_serving(serving) for serving in board.behind)
    follow = "" if board.unrecorded else " They follow within ten seconds, or their log says why."
    return f"Web processes: {len(board.serving)}; {behind}.{follow}"


def format_serving(serving: ServingProcess) -> str:
    """What one web process serves, in words."""
    preset = f" ({escape_controls(serving.preset)})" if serving.preset else ""
    return gettext("{process} serves version {version}{preset}").format(
        process=serving.process[:8], version=serving.version, preset=preset
    )


def format_unrecorded(board: Board) -> str:
    """What processes serve that no row names; empty if there is none."""
    if not board.unrecorded:
        return ""
    unrecorded = ", ".join(format_serving(serving) for serving in board.unrecorded)
    return gettext(
        "of {count} web processes, {unrecorded}, from the copy on disk. "
        "The last row in the table is version {version} ({preset})."
    ).format(
        count=len(board.serving),
        unrecorded=unrecorded,
        version=board.newest.version,
        preset=escape_controls(board.newest.preset),
    )


def _json_values(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in facts.items()
    }
