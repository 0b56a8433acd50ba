"""PURE. Every limit and time-out of the service with its meaning, for the dashboard and /ops/status.json."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ops.catalogue_marks import gettext_noop

POLICY_MEANINGS: Mapping[str, str] = {
    "live_turns_per_person": gettext_noop("turns that one person may have under way"),
    "messages_per_minute": gettext_noop("messages that one person may send in a minute"),
    "lease_s": gettext_noop("seconds without a heartbeat, then a process counts as gone and its turns pause"),
    "away_s": gettext_noop("seconds without an open page, then a waiting person's place is given up"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceRule:
    """One limit. `name` is the setting, or the field of `TurnPolicy` that holds it."""

    name: str
    value: float
    meaning: str


def list_rules(values: Mapping[str, float], meanings: Mapping[str, str]) -> Iterator[ServiceRule]:
    """One rule for each meaning, in that order. Raises KeyError where a value is missing."""
    for name, meaning in meanings.items():
        yield ServiceRule(name=name, value=values[name], meaning=meaning)
