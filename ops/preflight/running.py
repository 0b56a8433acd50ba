"""What already runs on this database: web processes and the worker, as the figures of the moment tell."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.checks import CheckMessage, Info, Warning

from companion.turn_policy import LEASE_S
from ops.alerts.kinds import AlertKind
from ops.alerts.statements import WORKER_TIMEOUT

_KINDS = {kind.value: kind for kind in AlertKind}


def judge_running(figures: Mapping[str, Any], *, persona_versions: set[str]) -> Iterator[CheckMessage]:
    """Whether processes are alive, and serve the files of this machine. `figures` as `/ops/status.json` has them."""
    alive = _list_alive(figures)
    if not alive:
        yield Info("No web process runs on this database now.", id="companion.I050")
    seen = figures["alerts"]["looked_through_s"]
    if alive and (seen is None or seen > WORKER_TIMEOUT.total_seconds()):
        since = "never" if seen is None else f"not for {seen:.0f} s"
        yield Warning(
            f"The worker has {since} looked through the alerts. None is sent.",
            hint="Start worker and beat: companion-worker.service and companion-beat.service.",
            id="companion.W050",
        )
    others = {process["persona_version"] for process in alive} - persona_versions - {""}
    if others:
        yield Warning(
            "Web processes that run now serve another version of the character's file than the one on this machine: "
            f"{', '.join(sorted(others))}.",
            hint="Give every machine the same files, and restart the web processes in turn.",
            id="companion.W051",
        )
    reported = sorted({condition for process in alive for condition in process["conditions"]})
    yield from judge_conditions(reported, by="A web process reports: ", number="companion.W052")


def judge_conditions(conditions: Iterable[str], *, by: str, number: str) -> Iterator[CheckMessage]:
    """One warning for each condition, written `KIND ABOUT` as in `ops.alerts.process_conditions`."""
    for condition in conditions:
        name, _, about = condition.partition(" ")
        kind = _KINDS.get(name)
        if kind is None:
            # A process of a newer release may know more kinds.
            yield Warning(f"{by}{condition}", id=number)
            continue
        yield Warning(
            f"{by}{kind.describe(about)}", hint=f"{kind.do} Runbook: ops/runbooks/{kind.runbook}", id=number
        )


def count_alive(figures: Mapping[str, Any]) -> int:
    """Return how many web processes are alive."""
    return len(_list_alive(figures))


def _list_alive(figures: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [process for process in figures["processes"] if process["beat_age_s"] <= LEASE_S]
