"""Rules about calls of providers: whole answers, the ceiling, and what is left open (T9, T13, T14, Q1, Q7). PURE."""

from collections.abc import Sequence

from ops.ordeal.judge.evidence import Evidence, JudgedTurn, ProviderCall
from ops.ordeal.judge.fault_times import ON_ALL, ON_PROCESSES, ON_PROVIDERS, ON_STORAGE
from ops.ordeal.judge.findings import Findings, OrdealRule

WHOLE_REASONS = frozenset({"stop", "end_turn", "stop_sequence", "length", "max_tokens"})
"""Terminal reasons of both wires after which a reply is complete or shortened."""
CEILING_CHANGES_S = 2.0
"""A call may be made under the ceiling that was in force so long before."""
LET_GO_S = 2.0
"""After the end of its turn a call is closed within 0.2 s (T14); the rest is for a busy machine."""
AT_ONCE_S = 0.01
"""Two times of the database that are as near may be of one transaction."""


def check_whole(evidence: Evidence, findings: Findings) -> None:
    """A complete reply is all that its last call said, and that call ended with a recognised reason."""
    for turn in evidence.turns.values():
        if turn.state != "complete" or not (turn.reply or turn.admitted_at is not None):
            continue
        finished = [
            call
            for call in evidence.calls_of.get(turn.id, ())
            if call.how == "finished" and call.reason in WHOLE_REASONS
        ]
        if not finished:
            text = "no call of the complete turn was finished"
            findings.expect(_log_ended(evidence, turn), text, at=turn.ends_at, turn=turn.id)
            continue
        said, stored = finished[-1].text.strip(), turn.reply.strip()
        text = f"the provider said {len(said)} characters, {len(stored)} are stored as complete"
        findings.expect(said == stored, text, at=turn.ends_at, turn=turn.id)


def _log_ended(evidence: Evidence, turn: JudgedTurn) -> bool:
    """Whether the provider of a call was killed: its last moment is not in its log."""
    return any(call.kind == "ended" for call in evidence.calls_of.get(turn.id, ()))


def check_stored_was_said(evidence: Evidence, findings: Findings) -> None:
    """Every stored reply, half ones too, is a beginning of what one call of its turn said."""
    for turn in evidence.turns.values():
        if turn.reply:
            said = (call.text.lstrip() for call in evidence.calls_of.get(turn.id, ()))
            held = any(text.startswith(turn.reply.strip()) for text in said) or _log_ended(evidence, turn)
            findings.expect(held, "no call of the turn said what is stored", at=turn.ends_at, turn=turn.id)


def check_one_call(evidence: Evidence, findings: Findings) -> None:
    """After the first word of a call no other is made for its turn, and one call at most says a whole reply."""
    for turn in evidence.turns.values():
        calls = evidence.calls_of.get(turn.id, ())
        whole = sum(1 for call in calls if call.how == "finished" and call.text.strip())
        findings.expect(whole <= 1, f"{whole} calls said a whole reply", at=turn.ends_at, turn=turn.id)
        early = [one["number"] for one in turn.attempts[:-1] if one["words"]]
        text = f"another call was made after words of attempt {early[0] if early else 0}"
        findings.expect(not early, text, at=turn.ends_at, turn=turn.id)


def check_ceiling(evidence: Evidence, findings: Findings) -> None:
    """No more calls of live turns are open than the ceiling. A stopped process's calls of swept turns are apart."""
    calls = [call for call in evidence.calls if call.turn is not None]
    for call in calls:
        # The last of each turn: a lane that stands still does not see that the turn went on to another.
        last = {one.turn: one for one in calls if _counts(evidence, one, call.asked_at)}
        open_now = list(last.values())
        allowed = ceiling_at(evidence, call.asked_at)
        text = f"{len(open_now)} calls were open, the ceiling is {allowed}"
        held = len(open_now) <= allowed
        findings.expect(held, text, at=call.asked_at, who=f"provider:{call.lane}", turn=call.turn)
        _check_lane(evidence, findings, call, [one for one in open_now if one.lane == call.lane])


def _check_lane(
    evidence: Evidence, findings: Findings, call: ProviderCall, open_now: Sequence[ProviderCall]
) -> None:
    takes = evidence.limits.get("lanes", {}).get(call.lane)
    if takes is not None:
        text = f"{len(open_now)} calls were open on the lane, which takes {takes}"
        held = len(open_now) <= takes
        findings.expect(held, text, at=call.asked_at, who=f"provider:{call.lane}", turn=call.turn)


def _counts(evidence: Evidence, call: ProviderCall, at: float) -> bool:
    """Whether a call is open at this moment and its turn holds a slot."""
    if not call.asked_at <= at < call.ended_at:
        return False
    turn = evidence.turns.get(call.turn or 0)
    return turn is None or turn.ends_at > at


def check_admitted(evidence: Evidence, findings: Findings) -> None:
    """By the record, no more turns speak at once than the ceiling."""
    admitted = [turn for turn in evidence.turns.values() if turn.admitted_at is not None]
    for turn in admitted:
        at = turn.admitted_at or 0.0
        beside = sum(1 for one in admitted if (one.admitted_at or 0.0) <= at and one.ends_at > at + AT_ONCE_S)
        allowed = ceiling_at(evidence, at)
        text = f"{beside} turns spoke at once, the ceiling is {allowed}"
        findings.expect(beside <= allowed, text, at=at, turn=turn.id)


def ceiling_at(evidence: Evidence, at: float) -> int:
    """The highest ceiling that may have been in force at this moment."""
    first = int(evidence.limits.get("ceiling", 0))
    allowed, in_force = first, first
    changes_s = evidence.load.allow(CEILING_CHANGES_S, at, at)
    for event in evidence.history.of("fault", "changed"):
        if event.data["subject"] != "ceiling":
            continue
        if event.at > at + changes_s:
            break
        value = event.data["value"]
        before, in_force = in_force, first if value is None else int(value)
        allowed = max(before, in_force) if event.at > at - changes_s else in_force
    return allowed


def check_let_go(evidence: Evidence, findings: Findings) -> None:
    """When a turn has ended, its call is closed, unless its process cannot know or was stopped."""
    for call in evidence.calls:
        turn = evidence.turns.get(call.turn or 0)
        if turn is None or turn.closed_at is None:
            continue
        ends = min(call.ended_at, evidence.ended_at)
        late_s = ends - turn.closed_at
        text = f"the call was open {late_s:.1f} s after the end of its turn"
        held = (
            late_s <= evidence.load.allow(LET_GO_S, turn.closed_at, ends)
            or _is_excused(evidence, turn, ends)
            or evidence.faults.touch(turn.closed_at, ends, ON_PROVIDERS, target=call.lane)
        )
        findings.expect(held, text, at=ends, who=f"provider:{call.lane}", turn=turn.id)


def _is_excused(evidence: Evidence, turn: JudgedTurn, until: float) -> bool:
    owner = evidence.process_names.get(turn.owner)
    return evidence.faults.touch(turn.closed_at or 0.0, until, ON_PROCESSES | ON_STORAGE, target=owner)


def check_admitted_asks(evidence: Evidence, findings: Findings) -> None:
    """An admitted turn asks a provider: it does not hold a slot for nothing."""
    for turn in evidence.turns.values():
        if turn.admitted_at is None:
            continue
        if evidence.calls_of.get(turn.id) or turn.attempts:
            findings.checked += 1
            continue
        idle_s = min(turn.ends_at, evidence.ended_at) - turn.admitted_at
        ends = turn.admitted_at + idle_s
        held = idle_s <= evidence.load.allow(LET_GO_S, turn.admitted_at, ends) or evidence.faults.touch(
            turn.admitted_at, ends, ON_ALL
        )
        text = f"the turn held a slot for {idle_s:.1f} s without a call"
        findings.expect(held, text, at=turn.admitted_at, turn=turn.id)


RULES = (
    OrdealRule(name="whole-answer", promise="Complete means all that the provider said", check=check_whole),
    OrdealRule(
        name="stored-was-said", promise="What is stored was said by the provider", check=check_stored_was_said
    ),
    OrdealRule(
        name="no-second-call", promise="After the first word no other call is made", check=check_one_call
    ),
    OrdealRule(
        name="ceiling-at-the-provider",
        promise="The provider never has more calls of live turns than the ceiling",
        check=check_ceiling,
    ),
    OrdealRule(
        name="ceiling-on-record", promise="No more turns speak at once than the ceiling", check=check_admitted
    ),
    OrdealRule(name="calls-are-let-go", promise="A call is closed with its turn", check=check_let_go),
    OrdealRule(name="slots-are-used", promise="An admitted turn asks a provider", check=check_admitted_asks),
)
