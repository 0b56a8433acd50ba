"""Rules about flags: never lost, never closed by itself, one owner, and in time (S1, S2, S3). PURE."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from ops.ordeal.judge.evidence import Evidence
from ops.ordeal.judge.fault_times import ON_PROCESSES, ON_STORAGE
from ops.ordeal.judge.findings import Findings, OrdealRule

RANKS = {"open": 0, "accepted": 1, "closed": 2}
TIERS = {"amber": 0, "red": 1}
TOGETHER_S = 0.25
"""A flag is stored with its cause. The statements of one transaction are not further apart, while the storage works."""
ACCEPTED_BEFORE_S = 1.0
"""A flag that was accepted so shortly before a message may still have counted it."""
LINE_WITHIN_S = 3.0
"""The line to a red message is shown within 2 s (S1); the rest is for a busy machine."""


def check_causes(evidence: Evidence, findings: Findings) -> None:
    """Every red message and every press has its flag, stored with it."""
    flags = evidence.history.rows("flags")
    red_keys = {
        str(frame["key"])
        for story in evidence.pages
        for event, frame in story.frames("sent")
        if event.data.get("red")
    }
    for turn in evidence.turns.values():
        if turn.state != "safety" and turn.key not in red_keys:
            continue
        own = [
            one for one in flags if one["conversation"] == turn.conversation and one["source"] == "message"
        ]
        raised = [one for one in own if _covers(one, turn.id, turn.created_at)]
        findings.expect(bool(raised), "the red message has no flag", at=turn.created_at, turn=turn.id)
        for one in raised:
            if one["turn"] == turn.id:
                late_s = float(one["opened_at"]) - turn.created_at
                storage = evidence.faults.touch(turn.created_at, one["opened_at"], ON_STORAGE, settle_s=0.0)
                text = f"flag {one['id']} was stored {late_s:.1f} s after its message"
                held = abs(late_s) <= evidence.load.allow(TOGETHER_S, turn.created_at, one["opened_at"])
                findings.expect(held or storage, text, at=one["opened_at"], turn=turn.id)
    _check_presses(evidence, findings)


def _covers(flag: Mapping[str, Any], turn: int, created_at: float) -> bool:
    """Whether a flag is about this message: raised by it, or open before it and counting it."""
    if flag["tier"] != "red" or flag["turn"] is None:
        return False
    was_open = flag["accepted_at"] is None or flag["accepted_at"] >= created_at - ACCEPTED_BEFORE_S
    return bool(flag["turn"] == turn or (flag["turn"] < turn and flag["count"] > 1 and was_open))


def _check_presses(evidence: Evidence, findings: Findings) -> None:
    helped = {one["conversation"] for one in evidence.history.rows("flags") if one["kind"] == "help"}
    for story in evidence.pages:
        pressed = False
        for event, frame in story.frames("sent", "got"):
            if frame.get("type") != "help":
                continue
            if event.what == "sent":
                pressed = True
            elif pressed:
                held = evidence.conversation_of.get(story.name) in helped
                findings.expect(held, "the answered press has no flag", at=event.at, who=story.who)


def check_kept(evidence: Evidence, findings: Findings) -> None:
    """A flag that a screen has shown is on record, as loud, and no step further back."""
    stored = {int(one["id"]): one for one in evidence.history.rows("flags")}
    for at, who, shown in _shown_flags(evidence):
        flag = stored.get(int(shown["id"]))
        if flag is None:
            findings.expect(False, f"flag {shown['id']} was shown and is not stored", at=at, who=who)
            continue
        held = RANKS[flag["state"]] >= RANKS[shown["state"]]
        text = f"flag {flag['id']} was shown {shown['state']} and is {flag['state']}"
        findings.expect(held, text, at=at, who=who)
        held = TIERS[flag["tier"]] >= TIERS[shown["tier"]]
        findings.expect(held, f"flag {flag['id']} was shown {shown['tier']}", at=at, who=who)


def _shown_flags(evidence: Evidence) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    for story in evidence.screens:
        for event, frame in story.frames("hello", "got"):
            shown = [frame] if frame.get("type") == "flag" else frame.get("flags") or ()
            for one in shown:
                # Without its facts: the screen may not see the flag any more.
                if "tier" in one:
                    yield event.at, story.who, one


def check_closed_by_people(evidence: Evidence, findings: Findings) -> None:
    """A flag is accepted once, by a person, and closed by its owner alone, who has asked for it."""
    steps: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for step in sorted(evidence.history.rows("flag_steps"), key=lambda one: int(one["id"])):
        steps[int(step["flag"])].append(step)
    asked = {
        int(frame["flag"])
        for story in evidence.screens
        for _, frame in story.frames("sent")
        if frame.get("type") == "close"
    }
    for flag in evidence.history.rows("flags"):
        fault = _find_wrong_step(steps[int(flag["id"])])
        findings.expect(not fault, f"flag {flag['id']}: {fault}", at=flag["opened_at"], turn=flag["turn"])
        if flag["state"] == "closed":
            held = int(flag["id"]) in asked and bool(flag["closed_by_name"])
            text = f"flag {flag['id']} is closed and no screen has closed it"
            findings.expect(held, text, at=flag["closed_at"], turn=flag["turn"])


def _find_wrong_step(steps: list[Mapping[str, Any]]) -> str:
    owner, state = "", "open"
    for step in steps:
        what, who = step["what"], step["who"]
        if what == "accepted":
            if state != "open":
                return f"it was accepted while it was {state}"
            owner, state = who, "accepted"
        elif what == "taken_on":
            owner = who
        elif what == "closed":
            if state != "accepted" or who != owner:
                return f"it was closed while it was {state}, not by its owner"
            state = "closed"
        if what in ("accepted", "taken_on", "closed") and not who:
            return f"it was {what} by no person"
    return ""


def check_one_owner(evidence: Evidence, findings: Findings) -> None:
    """An acceptance is granted to one person."""
    granted: dict[int, str] = {}
    for story in evidence.screens:
        for event, frame in story.frames("got"):
            if frame.get("type") == "done" and frame.get("act") == "accept":
                flag = int(frame["flag"])
                first = granted.setdefault(flag, story.name)
                text = f"flag {flag} was accepted by {first} and by {story.name}"
                findings.expect(first == story.name, text, at=event.at, who=story.who)


def check_line_in_time(evidence: Evidence, findings: Findings) -> None:
    """The line to a red message is shown within 2 s, whatever the provider does."""
    for story in evidence.pages:
        accepted: dict[int, float] = {}
        for event, frame in story.frames("got"):
            turn = frame.get("turn")
            if frame.get("type") == "accepted":
                accepted[int(frame["turn"])] = event.at
            elif frame.get("type") == "safety" and turn in accepted:
                took_s = event.at - accepted[turn]
                disturbed = evidence.faults.touch(
                    accepted[turn], event.at, ON_PROCESSES | ON_STORAGE | {"page"}
                )
                text = f"the line was shown {took_s:.1f} s after the red message was accepted"
                held = took_s <= evidence.load.allow(LINE_WITHIN_S, accepted[turn], event.at)
                findings.expect(held or disturbed, text, at=event.at, who=story.who, turn=turn)


RULES = (
    OrdealRule(
        name="every-cause-rings", promise="Every red message and every press has its flag", check=check_causes
    ),
    OrdealRule(name="flags-are-kept", promise="No flag is lost, lowered or reopened", check=check_kept),
    OrdealRule(
        name="flags-close-by-hand",
        promise="A flag is accepted once and closed by its owner",
        check=check_closed_by_people,
    ),
    OrdealRule(name="one-owner", promise="A flag is granted to one person", check=check_one_owner),
    OrdealRule(
        name="line-in-time", promise="The line to a red message is shown in time", check=check_line_in_time
    ),
)
