"""PURE. The figures of the moment in words, for the page as it is served and for the frames that keep it right."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from companion.turn_policy import LEASE_S
from ops.alerts.statements import AWAY_AFTER
from ops.status.held import Held
from ops.text import format_length
from ops.transcripts.meanings import NEEDS_A_PERSON, meaning_of

LONG_WAIT = 0.5
"""Of the wait ceiling: whoever has waited so long needs somebody's eye."""
LEVELS = {
    "free": ("○", "There is room"),
    "full": ("◐", "Full: people wait their turn"),
    "long": ("●", "Full: somebody has waited long"),
    "nobody": ("✕", "Nobody can be answered"),
}
"""How it stands, with a sign of its own shape for each, worst last."""


def level(figures: Mapping[str, Any]) -> str:
    """How it stands, in one of four words."""
    if not any(one["beat_age_s"] <= LEASE_S and not one["draining"] for one in figures["processes"]):
        return "nobody"
    if figures["oldest_wait_s"] > LONG_WAIT * figures["wait_ceiling_s"]:
        return "long"
    return "full" if figures["waiting"] else "free"


def texts(figures: Mapping[str, Any], *, at: datetime) -> dict[str, str]:
    """Every short text of the page, by the name under which it stands there."""
    sign, stands = LEVELS[level(figures)]
    waiting, held = figures["waiting"], figures["held_questions"]
    first, ended = figures["first_word_ms"], figures["last_hour"]
    known = first["p50"] is not None
    return {
        "at": f"{at:%H:%M:%S} UTC",
        "sign": sign,
        "stands": stands,
        "in_flight": str(figures["in_flight"]),
        "in_flight_says": f"of {figures['ceiling']} replies are being said",
        "waiting": str(waiting),
        "waiting_says": f"{'person waits' if waiting == 1 else 'people wait'} for a place",
        "oldest_wait": f"{figures['oldest_wait_s']:.0f} s" if waiting else "–",
        "oldest_wait_says": "the longest wait; "
        f"after {format_length(figures['wait_ceiling_s'])} people are asked to try again",
        "held": str(held),
        "held_says": f"{'question is' if held == 1 else 'questions are'} held for a next message",
        "first_word": f"{first['p50']} ms" if known else "–",
        "first_word_says": f"to the first word for half of all, {first['p95']} ms for 95 of 100, in the last hour"
        if known
        else "to the first word: nobody was answered in the last hour",
        "character": figures["persona"]["name"],
        "character_version": figures["persona"]["version"],
        "preset": figures["routing"]["preset"],
        "worker": "; ".join(_alerting(figures["alerts"])),
        "ceiling_says": _ceiling(figures),
        **{state: str(count) for state, count in ended.items()},
        **{f"{state}_rate": rate(ended[state], sum(ended.values())) for state in ("paused", "refused")},
    }


def rate(count: int, of: int) -> str:
    """How many of a hundred."""
    if not of:
        return "none ended"
    return f"{100 * count / of:.1f} of 100" if count else "0 of 100"


def processes(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Each web process in one sentence, with a mark where it is not well."""
    return [
        {
            "says": f"{_count(one['in_flight'], 'reply', 'replies')}, {_count(one['sockets'], 'open page')}, "
            f"runs for {_age(int(one['age_s']))}, last heard of {one['beat_age_s']:.0f} s ago",
            "mark": "gone" if one["beat_age_s"] > LEASE_S else "leaving" if one["draining"] else "",
        }
        for one in figures["processes"]
    ]


def questions(found: Sequence[Held], *, place: str) -> list[dict[str, str]]:
    """Held questions as links; `place` is where the story of turn 0 would be."""
    return [
        {
            "href": place.replace("/0/", f"/{one.turn}/"),
            "turn": f"Turn {one.turn}",
            "person": one.person,
            "house": one.house,
            "says": f"asked {one.asked_at:%d %b, %H:%M}, held until {one.held_until:%d %b, %H:%M} UTC",
        }
        for one in found
    ]


def reasons(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Why replies paused in the last hour, the most frequent first."""
    return [
        {"count": str(count), "reason": reason, "meaning": meaning_of(reason)}
        for reason, count in figures["paused_last_hour_by_reason"].items()
    ]


def lanes(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """How the calls to each lane ended in the last hour."""
    return [
        {"name": lane, "ends": ", ".join(f"{count} × {end}" for end, count in ends.items())}
        for lane, ends in figures["attempts_last_hour_by_lane"].items()
    ]


def alarms(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Lanes that will not mend themselves."""
    return [
        {"lane": lane, "reason": str(reason)}
        for lane, ends in figures["attempts_last_hour_by_lane"].items()
        for reason in sorted(NEEDS_A_PERSON & ends.keys())
    ]


def _alerting(alerts: Mapping[str, Any]) -> Iterator[str]:
    yield _worker(alerts["looked_through_s"])
    if not alerts["ways"]:
        yield "alerts stand on these pages alone: neither ALERT_EMAIL nor ALERT_WEBHOOK_URL is set"
    elif unsent := alerts["unsent"]:
        yield f"CANNOT SEND: {unsent} {'alert has' if unsent == 1 else 'alerts have'} not gone out by every way"


def _worker(looked_through_s: float | None) -> str:
    if looked_through_s is None:
        return "has never looked through the alerts: nothing goes out by e-mail or webhook"
    if looked_through_s > AWAY_AFTER.total_seconds():
        return f"AWAY: alerts were last looked through {_age(int(looked_through_s))} ago"
    return f"alerts were last looked through {looked_through_s:.0f} s ago"


def _ceiling(figures: Mapping[str, Any]) -> str:
    come_from = figures["ceiling_from"]
    in_force = figures["ceiling"]
    if come_from["preset"] == in_force and come_from["preset"] != come_from["operators"]:
        return f"{in_force}: the preset allows no more"
    if come_from["operators"] is None:
        return f"{in_force}: the setting COMPANION_CEILING"
    return f"{in_force}: set by {come_from['by']} ({come_from['reason']})"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _age(seconds: int) -> str:
    """In its largest unit, so that it does not change all the time."""
    for unit, length in (("days", 172_800), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // (86_400 if unit == 'days' else length)} {unit}"
    return "less than a minute"
