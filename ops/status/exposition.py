"""PURE. The figures of the moment in the text format of Prometheus.

Written by hand: every figure is read from the database, so a client library's registry has nothing to count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from companion.turn_policy import LEASE_S

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[Mapping[str, str], float | None]


def format_exposition(figures: Mapping[str, Any], *, at: datetime) -> str:
    """The document of /ops/status.json as gauges. `at`: the time of the figures. Unknown figures are left out."""
    return "".join([*_lines(figures), *_state(figures, at)])


def _lines(figures: Mapping[str, Any]) -> Iterator[str]:
    for name, key, what in (
        ("turns_in_flight", "in_flight", "Turns that hold a slot now, over all processes."),
        ("ceiling", "ceiling", "Turns that may hold a slot at once."),
        ("turns_waiting", "waiting", "Turns in the waiting room, counted to 500."),
        ("oldest_wait_seconds", "oldest_wait_s", "How long the first in line has waited."),
        ("wait_ceiling_seconds", "wait_ceiling_s", "The longest wait before a turn is refused."),
        ("held_questions", "held_questions", "Questions kept to be answered first, counted to 500."),
    ):
        yield from _gauge(name, what, [({}, figures[key])])
    yield from _gauge(
        "turns_last_hour", "Turns that ended in the last hour.", _by("state", figures["last_hour"])
    )
    yield from _gauge(
        "paused_last_hour",
        "Turns paused in the last hour, by reason.",
        _by("reason", figures["paused_last_hour_by_reason"]),
    )
    yield from _gauge(
        "attempts_last_hour",
        "Calls to each lane in the last hour, by how they ended.",
        (
            ({"lane": lane, "ended": ended}, count)
            for lane, ends in figures["attempts_last_hour_by_lane"].items()
            for ended, count in ends.items()
        ),
    )
    yield from _quantiles(
        "first_word_seconds",
        "From the slot to the first stored word, over the last hour.",
        (
            ({"quantile": quantile}, None if ms is None else ms / 1000)
            for quantile, ms in (
                ("0.5", figures["first_word_ms"]["p50"]),
                ("0.95", figures["first_word_ms"]["p95"]),
            )
        ),
    )
    # Exclude dead processes: these figures are summed.
    alive = [one for one in figures["processes"] if one["beat_age_s"] <= LEASE_S]
    yield from _gauge("processes", "Web processes that were heard of within their lease.", [({}, len(alive))])
    for name, key, what in (
        ("process_turns_in_flight", "in_flight", "Turns each web process drives now."),
        ("process_sockets", "sockets", "Open pages of each web process."),
        (
            "process_routing_version",
            "routing_version",
            "The version of the selection that each web process serves.",
        ),
        (
            "process_documents_refused",
            "documents_refused",
            "Distinct selections that each web process could not use since it started.",
        ),
        ("process_beat_age_seconds", "beat_age_s", "Since each web process was last heard of."),
    ):
        yield from _gauge(name, what, (({"process": one["id"]}, one[key]) for one in alive))


def _state(figures: Mapping[str, Any], at: datetime) -> Iterator[str]:
    routing, alerts, drill = figures["routing"], figures["alerts"], figures["drill"]
    yield from _gauge(
        "routing_version",
        "The version of the selection in force, with its preset.",
        [({"preset": routing["preset"]}, routing["version"])],
    )
    yield from _gauge(
        "lane_state",
        "1 for the state of each lane's breaker, for the lanes of the chain in force.",
        (({"lane": one["lane"], "state": one["state"]}, 1) for one in routing["chain"]),
    )
    yield from _gauge(
        "scripted_replies",
        "1 if no routing file is set and the rehearsal provider answers people.",
        [({}, int(routing["scripted"]))],
    )
    yield from _gauge(
        "normal_has_fallback",
        "0 if the normal chain has one lane, or lanes of one failure domain alone.",
        [({}, int(not routing["normal_weakness"]))],
    )
    yield from _gauge("alerts_open", "Open alerts, by kind.", _by("kind", alerts["open"]))
    yield from _gauge(
        "alerts_looked_through_seconds",
        "Since the worker last looked through the alerts.",
        [({}, alerts["looked_through_s"])],
    )
    yield from _flags(figures.get("flags", {}))
    yield from _usage(figures["usage"], at)
    yield from _gauge(
        "alerts_unsent",
        "Open alerts that were tried more than once and were not sent by every transport.",
        [({}, alerts["unsent"])],
    )
    yield from _gauge(
        "alert_ways", "Transports that send alerts: e-mail addresses and webhook.", [({}, alerts["ways"])]
    )
    for name, key, what in (
        ("restore_proved_seconds", "proved_at", "Since a drill last proved that a backup restores."),
        (
            "restore_proved_data_age_seconds",
            "proved_as_of",
            "Age of the newest data that were proved to restore.",
        ),
    ):
        moment = drill.get(key)
        yield from _gauge(
            name, what, [({}, (at - datetime.fromisoformat(moment)).total_seconds() if moment else None)]
        )


def _flags(flags: Mapping[str, Any]) -> Iterator[str]:
    if not flags:
        return
    yield from _gauge(
        "flags_not_closed",
        "Flags that are not closed, by tier and state.",
        (({"tier": one["tier"], "state": one["state"]}, one["count"]) for one in flags["not_closed"]),
    )
    yield from _gauge(
        "flag_oldest_open_seconds",
        "Age of the oldest flag of each tier that no person has accepted.",
        (({"tier": one["tier"]}, one["oldest_s"]) for one in flags["not_closed"] if one["state"] == "open"),
    )
    yield from _gauge(
        "flag_target_seconds", "Within which a flag should be accepted.", [({}, flags["target_s"])]
    )
    yield from _gauge(
        "flags_last_week",
        "Flags raised in the last seven days, by site.",
        (({"site": one["site"]}, one["count"]) for one in flags["last_week"]),
    )
    yield from _gauge(
        "flags_in_target_last_week",
        "Those that were accepted within the target, by site.",
        (({"site": one["site"]}, one["in_target"]) for one in flags["last_week"]),
    )
    yield from _quantiles(
        "flag_seconds",
        "From the raising of a flag to each step, over the last seven days, by site. Quantile 1 is the worst.",
        (
            ({"site": one["site"], "step": step, "quantile": quantile}, times[key])
            for one in flags["last_week"]
            for step, times in one["steps"].items()
            for quantile, key in (("0.5", "p50_s"), ("0.95", "p95_s"), ("1", "worst_s"))
        ),
    )


def _usage(days: Sequence[Mapping[str, Any]], at: datetime) -> Iterator[str]:
    today = [one for one in days if one["day"] == at.astimezone(UTC).date().isoformat()]
    for name, key, what in (
        ("calls_today", "calls", "Calls to each lane since midnight UTC."),
        ("calls_told_today", "calls_told", "Those whose provider reported tokens."),
        (
            "input_tokens_today",
            "input_tokens",
            "Tokens sent to each lane since midnight UTC, as far as reported.",
        ),
        (
            "output_tokens_today",
            "output_tokens",
            "Tokens each lane wrote since midnight UTC, as far as reported.",
        ),
        ("cost_today", "cost", "What they cost, for lanes whose prices are in the routing file."),
    ):
        samples = (({"lane": one["lane"], "currency": one["currency"] or ""}, one[key]) for one in today)
        yield from _gauge(name, what, samples)


def _by(label: str, counts: Mapping[str, float]) -> Iterable[Sample]:
    return (({label: name}, count) for name, count in counts.items())


def _gauge(name: str, what: str, samples: Iterable[Sample], *, kind: str = "gauge") -> Iterator[str]:
    yield f"# HELP companion_{name} {what}\n# TYPE companion_{name} {kind}\n"
    for labels, value in samples:
        if value is not None:
            listed = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
            yield f"companion_{name}{{{listed}}} {value}\n" if listed else f"companion_{name} {value}\n"


def _quantiles(name: str, what: str, samples: Iterable[Sample]) -> Iterator[str]:
    # Prometheus keeps the label `quantile` for summaries. Sum and count are not known, and may be left out.
    yield from _gauge(name, what, samples, kind="summary")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
