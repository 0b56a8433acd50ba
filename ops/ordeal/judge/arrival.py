"""The rule of the waiting line: first come, first served (Q1). PURE."""

from ops.ordeal.judge.evidence import Evidence, JudgedTurn
from ops.ordeal.judge.fault_times import BREAKERS_REST_S, ON_PROCESSES, ON_PROVIDERS, ON_STORAGE
from ops.ordeal.judge.findings import Findings, OrdealRule
from ops.testbed.arrival_order import Arrival, find_out_of_order

NEVER_IN_LINE = frozenset({"safety", "handed_over"})
COMMITS_WITHIN_S = 1.0
LEFT_THE_LINE = frozenset({"lost", "drained", "away"})


def check_arrival(evidence: Evidence, findings: Findings) -> None:
    """No turn is admitted while an earlier one waits for the same lane and could have been."""
    lined = [turn for turn in evidence.turns.values() if _stood_in_line(turn)]
    findings.checked += sum(1 for turn in lined if turn.admitted_at is not None)
    for earlier, later in find_out_of_order([_to_arrival(turn) for turn in lined]):
        before, after = evidence.turns[earlier], evidence.turns[later]
        if _first_lane(before) == _first_lane(after) and not _is_explained(evidence, before, after):
            text = f"the turn was admitted while turn {earlier} waited"
            findings.expect(False, text, at=after.admitted_at or 0.0, turn=later)


def _stood_in_line(turn: JudgedTurn) -> bool:
    return turn.admitted_at is not None or turn.state in ("refused", "stopped", "waiting", "paused")


def _to_arrival(turn: JudgedTurn) -> Arrival:
    return Arrival(
        turn=turn.id,
        conversation=turn.conversation,
        created_at=turn.created_at,
        admitted_at=turn.admitted_at,
        closed_at=turn.closed_at,
        left_the_line=turn.reason in LEFT_THE_LINE or turn.state in NEVER_IN_LINE,
    )


def _first_lane(turn: JudgedTurn) -> str:
    """The lane for which it waited, as far as the record tells: the first that it called."""
    return str(turn.attempts[0]["lane"]) if turn.attempts else turn.lane


def _is_explained(evidence: Evidence, before: JudgedTurn, after: JudgedTurn) -> bool:
    """Whether the earlier turn may have been unable to go: its process was in trouble, or the lanes were changing."""
    begins, ends = before.created_at, after.admitted_at or before.created_at
    owner = evidence.process_names.get(before.owner)
    changed = any(
        event.data["subject"] == "preset" and event.at <= ends + 1.0
        for event in evidence.history.of("fault", "changed")
    )
    # The end of its own earlier turn bears the time of its statement. Its commit, which lets this turn go, is later.
    behind = any(
        ends - evidence.load.allow(COMMITS_WITHIN_S, ends, ends) <= one.ends_at <= ends
        for one in evidence.turns_of[before.conversation]
        if one.id < before.id
    )
    return (
        changed
        or behind
        or evidence.faults.touch(begins, ends, ON_PROCESSES | ON_STORAGE, target=owner)
        or evidence.faults.touch(begins, ends, ON_PROVIDERS, settle_s=BREAKERS_REST_S)
    )


RULES = (OrdealRule(name="order-of-arrival", promise="First come, first served", check=check_arrival),)
