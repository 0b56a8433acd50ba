"""PURE. Every figure the service runs by, with what it means in plain words: for the ops page and /ops/status.json."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MEANINGS: Mapping[str, str] = {
    "COMPANION_CEILING": "replies that may be said at once, over all processes; operators change it while all runs",
    "COMPANION_WAIT_CEILING_S": "seconds in the waiting room, then a person is asked to try again",
    "COMPANION_HOLD_S": "seconds that an unanswered question is held, to be answered first with the next message",
    "COMPANION_KEEP_S": "seconds until which a question whose hold is over is offered back to the person",
    "COMPANION_STILL_HERE_S": "seconds without a word after which a line says that he is still there",
    "COMPANION_TURN_BUDGET_S": "seconds until the first word of a reply, over all attempts",
    "COMPANION_ATTEMPTS": "calls to a provider for one turn, at most",
    "COMPANION_VISIT_S": "seconds after which a visit ends by itself",
    "COMPANION_PAGES_PER_PERSON": "open pages of one person, in each process",
    "COMPANION_PAGES_PER_ADDRESS": "open pages from one address, in each process",
    "COMPANION_SIGN_IN_TRIES": "sign-ins that did not fit, from one address within ten minutes",
    "COMPANION_BREAKER_COOLDOWN_S": "seconds that a lane which failed again and again is left alone",
    "most_waiting": "turns that one person may have under way",
    "most_a_minute": "messages that one person may send in a minute",
    "lease_s": "seconds without a heartbeat, then a process counts as gone and its turns pause",
    "away_s": "seconds without an open page, then a waiting person's place is given up",
    "grace_s": "seconds that running replies have when a process is told to leave",
}

LEASE_S = 10.0
"""A process that has not been heard of for so long is gone. It is listed for ten minutes, and counted in no sum."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One figure. The name is that of the setting, or of the `TurnPolicy` field that holds it."""

    name: str
    value: float
    meaning: str


def rules(values: Mapping[str, float]) -> Iterator[Rule]:
    """The rules in the order of their meanings. Raises KeyError where a value is missing."""
    for name, meaning in MEANINGS.items():
        yield Rule(name=name, value=values[name], meaning=meaning)
