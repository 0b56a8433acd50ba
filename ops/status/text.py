"""PURE. The figures of the moment in words, for the dashboard as it is served and for its frames."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from companion.turn_policy import LEASE_S
from ops.access import StaffAccess
from ops.alerts.statements import WORKER_TIMEOUT
from ops.status.held_questions import HeldQuestion
from ops.text import format_length
from ops.transcripts.text import NEEDS_A_PERSON, explain_reason

LONG_WAIT_SHARE = 0.5
"""The share of the wait ceiling from which a wait is shown as long."""
LEVELS = {
    "free": ("○", "There is room"),
    "full": ("◐", "Full: people wait their turn"),
    "long": ("●", "Full: people have waited long"),
    "unavailable": ("✕", "No replies possible"),
}
"""How the service stands, worst last. Each level has a sign of its own shape."""


def choose_level(figures: Mapping[str, Any]) -> str:
    """The worst level that applies: a key of LEVELS."""
    if not any(one["beat_age_s"] <= LEASE_S and not one["draining"] for one in figures["processes"]):
        return "unavailable"
    if figures["oldest_wait_s"] > LONG_WAIT_SHARE * figures["wait_ceiling_s"]:
        return "long"
    return "full" if figures["waiting"] else "free"


def format_texts(figures: Mapping[str, Any], *, at: datetime) -> dict[str, str]:
    """Every short text of the page, by the name of its place there."""
    sign, level = LEVELS[choose_level(figures)]
    waiting, held = figures["waiting"], figures["held_questions"]
    first_word, ended = figures["first_word_ms"], figures["last_hour"]
    known = first_word["p50"] is not None
    return {
        "at": f"{at:%H:%M:%S} UTC",
        "sign": sign,
        "stands": level,
        "in_flight": str(figures["in_flight"]),
        "in_flight_says": f"of {figures['ceiling']} replies are being said",
        "waiting": _format_counted(figures, "waiting"),
        "waiting_says": f"{'person waits' if waiting == 1 else 'people wait'} for a place",
        "oldest_wait": f"{figures['oldest_wait_s']:.0f} s" if waiting else "–",
        "oldest_wait_says": "the longest wait; "
        f"after {format_length(figures['wait_ceiling_s'])} people are asked to try again",
        "held": _format_counted(figures, "held_questions"),
        "held_says": f"{'question is' if held == 1 else 'questions are'} held for a next message",
        "first_word": f"{first_word['p50']} ms" if known else "–",
        "first_word_says": f"to the first word for half of all, {first_word['p95']} ms for 95 of 100, in the last hour"
        if known
        else "to the first word: no reply in the last hour",
        "character": figures["persona"]["name"],
        "character_version": figures["persona"]["version"],
        "preset": figures["routing"]["preset"],
        "worker": "; ".join(_describe_alerting(figures["alerts"])),
        "ceiling_says": _describe_ceiling(figures),
        **{state: str(count) for state, count in ended.items()},
        **{
            f"{state}_rate": format_rate(ended[state], sum(ended.values())) for state in ("paused", "refused")
        },
    }


def _format_counted(figures: Mapping[str, Any], name: str) -> str:
    count = figures[name]
    return f"over {count:,}" if name in figures["counted_in_part"] else str(count)


def format_rate(count: int, of: int) -> str:
    """`count` as a share of a hundred."""
    if not of:
        return "none ended"
    return f"{100 * count / of:.1f} of 100" if count else "0 of 100"


def format_processes(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Each web process in one sentence, with a mark where it is not well."""
    return [
        {
            "says": ", ".join(
                [
                    _format_count(process["in_flight"], "reply", "replies"),
                    _format_count(process["sockets"], "open page"),
                    f"runs for {_format_age(int(process['age_s']))}",
                    f"last heard of {process['beat_age_s']:.0f} s ago",
                ]
            ),
            "mark": "gone" if process["beat_age_s"] > LEASE_S else "leaving" if process["draining"] else "",
        }
        for process in figures["processes"]
    ]


def format_held(held: Sequence[HeldQuestion], access: StaffAccess, *, turn_url: str) -> list[dict[str, str]]:
    """Held questions as links, for this reader. `turn_url` is the address of turn 0."""
    return [
        {
            "href": turn_url.replace("/0/", f"/{question.turn}/"),
            "turn": f"Turn {question.turn}",
            "person": access.name_of(question.person, participant=question.participant, site=question.site),
            "house": question.house,
            "says": f"asked {question.asked_at:%d %b, %H:%M}, held until {question.held_until:%d %b, %H:%M} UTC",
        }
        for question in held
    ]


def format_reasons(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Why replies paused in the last hour, the most frequent first."""
    return [
        {"count": str(count), "reason": reason, "meaning": explain_reason(reason)}
        for reason, count in figures["paused_last_hour_by_reason"].items()
    ]


def format_lanes(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """How the calls to each lane ended in the last hour."""
    return [
        {"name": lane, "ends": ", ".join(f"{count} × {end}" for end, count in ends.items())}
        for lane, ends in figures["attempts_last_hour_by_lane"].items()
    ]


def format_alarms(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Lanes whose failures need a person."""
    return [
        {"lane": lane, "reason": str(reason)}
        for lane, ends in figures["attempts_last_hour_by_lane"].items()
        for reason in sorted(NEEDS_A_PERSON & ends.keys())
    ]


def _describe_alerting(alerts: Mapping[str, Any]) -> Iterator[str]:
    yield _describe_worker(alerts["looked_through_s"])
    if not alerts["ways"]:
        yield "alerts stand on these pages alone: neither ALERT_EMAIL nor ALERT_WEBHOOK_URL is set"
    elif unsent := alerts["unsent"]:
        yield f"CANNOT SEND: {unsent} {'alert has' if unsent == 1 else 'alerts have'} not been sent by every transport"


def _describe_worker(looked_through_s: float | None) -> str:
    if looked_through_s is None:
        return "has never looked through the alerts: nothing goes out by e-mail or webhook"
    if looked_through_s > WORKER_TIMEOUT.total_seconds():
        return f"AWAY: alerts were last looked through {_format_age(int(looked_through_s))} ago"
    return f"alerts were last looked through {looked_through_s:.0f} s ago"


def _describe_ceiling(figures: Mapping[str, Any]) -> str:
    origin = figures["ceiling_from"]
    in_force = figures["ceiling"]
    if origin["preset"] == in_force and origin["preset"] != origin["operators"]:
        return f"{in_force}: the preset allows no more"
    if origin["operators"] is None:
        return f"{in_force}: the setting COMPANION_CEILING"
    return f"{in_force}: set by {origin['by']} ({origin['reason']})"


def _format_count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _format_age(seconds: int) -> str:
    """In the largest unit, so that the text changes seldom."""
    for unit, length in (("days", 172_800), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // (86_400 if unit == 'days' else length)} {unit}"
    return "less than a minute"
