"""PURE. The figures of the moment in words, for the dashboard as it is served and for its frames."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.dateformat import format as date_format
from django.utils.translation import gettext, ngettext

from companion.turn_policy import LEASE_S
from ops.access import StaffAccess
from ops.alerts.statements import WORKER_TIMEOUT
from ops.catalogue_marks import gettext_noop
from ops.status.held_questions import HeldQuestion
from ops.text import format_length
from ops.transcripts.text import NEEDS_A_PERSON, explain_reason

LONG_WAIT_SHARE = 0.5
"""The share of the wait ceiling from which a wait is shown as long."""
LEVELS = {
    "free": ("○", gettext_noop("There is room")),
    "full": ("◐", gettext_noop("Full: people wait their turn")),
    "long": ("●", gettext_noop("Full: people have waited long")),
    "unavailable": ("✕", gettext_noop("No replies possible")),
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
    ended = figures["last_hour"]
    return {
        "at": f"{at:%H:%M:%S} UTC",
        "sign": sign,
        "stands": gettext(level),
        "in_flight": str(figures["in_flight"]),
        "in_flight_says": gettext("of {ceiling} replies are being said").format(ceiling=figures["ceiling"]),
        "waiting": _format_counted(figures, "waiting"),
        "waiting_says": ngettext("person waits for a place", "people wait for a place", waiting),
        "oldest_wait": gettext("{count} s").format(count=f"{figures['oldest_wait_s']:.0f}")
        if waiting
        else "–",
        "oldest_wait_says": gettext("the longest wait; after {length} people are asked to try again").format(
            length=format_length(figures["wait_ceiling_s"])
        ),
        "held": _format_counted(figures, "held_questions"),
        "held_says": ngettext(
            "question is held for a next message", "questions are held for a next message", held
        ),
        **_format_first_word(figures["first_word_ms"]),
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


def _format_first_word(times: Mapping[str, Any]) -> dict[str, str]:
    if times["p50"] is None:
        return {"first_word": "–", "first_word_says": gettext("to the first word: no reply in the last hour")}
    says = gettext("to the first word for half of all, {most} ms for 95 of 100, in the last hour")
    return {
        "first_word": gettext("{count} ms").format(count=times["p50"]),
        "first_word_says": says.format(most=times["p95"]),
    }


def _format_counted(figures: Mapping[str, Any], name: str) -> str:
    count = figures[name]
    if name in figures["counted_in_part"]:
        return gettext("over {count}").format(count=f"{count:,}")
    return str(count)


def format_rate(count: int, of: int) -> str:
    """`count` as a share of a hundred."""
    if not of:
        return gettext("none ended")
    return gettext("{count} of 100").format(count=f"{100 * count / of:.1f}" if count else "0")


def format_processes(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """Each web process in one sentence, with a mark where it is not well."""
    return [
        {
            "says": ", ".join(
                [
                    ngettext("{count} reply", "{count} replies", process["in_flight"]).format(
                        count=process["in_flight"]
                    ),
                    ngettext("{count} open page", "{count} open pages", process["sockets"]).format(
                        count=process["sockets"]
                    ),
                    gettext("runs for {age}").format(age=_format_age(int(process["age_s"]))),
                    gettext("last heard of {count} s ago").format(count=f"{process['beat_age_s']:.0f}"),
                ]
            ),
            "mark": _mark_process(process),
        }
        for process in figures["processes"]
    ]


def _mark_process(process: Mapping[str, Any]) -> str:
    if process["beat_age_s"] > LEASE_S:
        return gettext("gone")
    return gettext("leaving") if process["draining"] else ""


def format_held(held: Sequence[HeldQuestion], access: StaffAccess, *, turn_url: str) -> list[dict[str, str]]:
    """Held questions as links, for this reader. `turn_url` is the address of turn 0."""
    return [
        {
            "href": turn_url.replace("/0/", f"/{question.turn}/"),
            "turn": gettext("Turn {number}").format(number=question.turn),
            "person": access.name_of(question.person, participant=question.participant, site=question.site),
            "house": question.house,
            "says": gettext("asked {asked}, held until {until} UTC").format(
                asked=date_format(question.asked_at, "d M, H:i"),
                until=date_format(question.held_until, "d M, H:i"),
            ),
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
        yield gettext("alerts stand on these pages alone: neither ALERT_EMAIL nor ALERT_WEBHOOK_URL is set")
    elif unsent := alerts["unsent"]:
        yield ngettext(
            "CANNOT SEND: {count} alert has not been sent by every transport",
            "CANNOT SEND: {count} alerts have not been sent by every transport",
            unsent,
        ).format(count=unsent)


def _describe_worker(looked_through_s: float | None) -> str:
    if looked_through_s is None:
        return gettext("has never looked through the alerts: nothing goes out by e-mail or webhook")
    if looked_through_s > WORKER_TIMEOUT.total_seconds():
        return gettext("AWAY: alerts were last looked through {age} ago").format(
            age=_format_age(int(looked_through_s))
        )
    return gettext("alerts were last looked through {count} s ago").format(count=f"{looked_through_s:.0f}")


def _describe_ceiling(figures: Mapping[str, Any]) -> str:
    origin = figures["ceiling_from"]
    in_force = figures["ceiling"]
    if origin["preset"] == in_force and origin["preset"] != origin["operators"]:
        return gettext("{ceiling}: the preset allows no more").format(ceiling=in_force)
    if origin["operators"] is None:
        return gettext("{ceiling}: the setting COMPANION_CEILING").format(ceiling=in_force)
    return gettext("{ceiling}: set by {by} ({reason})").format(
        ceiling=in_force, by=origin["by"], reason=origin["reason"]
    )


def _format_age(seconds: int) -> str:
    """In the largest unit, so that the text changes seldom."""
    if seconds >= 172_800:
        return gettext("{count} days").format(count=seconds // 86_400)
    if seconds >= 3_600:
        return gettext("{count} h").format(count=seconds // 3_600)
    if seconds >= 60:
        return gettext("{count} min").format(count=seconds // 60)
    return gettext("less than a minute")
