"""Rules about the record: acts of staff, attempts, and nothing left behind (T5, S5, Q4). PURE."""

from collections import Counter

from ops.ordeal.judge.evidence import Evidence
from ops.ordeal.judge.findings import Findings, OrdealRule

FLAG_ACTS = {
    "accept": "accepted_flag",
    "note": "noted_flag",
    "close": "closed_flag",
    "take_on": "took_on_flag",
}
ENTRY_ACTS = {"joins": "took_over", "leaves": "handed_back", "said": "said"}


def check_acts(evidence: Evidence, findings: Findings) -> None:
    """Every act of staff that was granted, and every one that changed a row, is on the audit record."""
    audit = evidence.history.rows("audit")
    notes = {(row["what"], row["note"]) for row in audit}
    for story in evidence.screens:
        for event, frame in story.frames("got"):
            act = str(frame.get("act", ""))
            if frame.get("type") == "done" and act in FLAG_ACTS:
                held = (FLAG_ACTS[act], f"flag {frame['flag']}") in notes
                text = f"{FLAG_ACTS[act]} of flag {frame['flag']} is not on the audit record"
                findings.expect(held, text, at=event.at, who=story.who)
    recorded = Counter((row["what"], row["about"]) for row in audit)
    participants = {
        int(facts["conversation"]): facts.get("participant") for facts in evidence.history.people.values()
    }
    made = Counter(
        (ENTRY_ACTS[row["kind"]], participants.get(int(row["conversation"])))
        for row in evidence.history.rows("entries")
        if row["kind"] in ENTRY_ACTS
    )
    for (what, about), count in made.items():
        text = f"{what} stands {recorded[what, about]} times on the audit record, and happened {count} times"
        findings.expect(recorded[what, about] >= count, text, at=evidence.ended_at)
    _check_pauses(evidence, findings, Counter(row["what"] for row in audit))


def _check_pauses(evidence: Evidence, findings: Findings, recorded: Counter[str]) -> None:
    pauses = evidence.history.rows("pauses")
    ended = sum(1 for row in pauses if row["ended_at"] is not None)
    for what, count in (("paused_companion", len(pauses)), ("resumed_companion", ended)):
        text = f"{what} stands {recorded[what]} times on the audit record, and happened {count} times"
        findings.expect(recorded[what] >= count, text, at=evidence.ended_at)


def check_granted(evidence: Evidence, findings: Findings) -> None:
    """What was granted to a screen is stored: the entry that the answer names exists."""
    stored = {int(row["id"]) for row in evidence.history.rows("entries")}
    keys = Counter(row["key"] for row in evidence.history.rows("entries") if row["key"])
    for story in evidence.screens:
        for event, frame in story.frames("got"):
            if frame.get("type") == "done" and isinstance(frame.get("entry"), int):
                text = f"entry {frame['entry']} was granted and is not stored"
                findings.expect(frame["entry"] in stored, text, at=event.at, who=story.who)
    for key, count in keys.items():
        findings.expect(
            count == 1, f"the words with key {key} are stored {count} times", at=evidence.ended_at
        )


def check_attempts(evidence: Evidence, findings: Findings) -> None:
    """A complete turn has the record of its calls: each one, and the lane that answered."""
    for turn in evidence.turns.values():
        calls = evidence.calls_of.get(turn.id, ())
        if turn.state != "complete" or not calls:
            continue
        text = f"{len(turn.attempts)} attempts are on record, {len(calls)} calls were made"
        findings.expect(len(turn.attempts) >= len(calls), text, at=turn.ends_at, turn=turn.id)
        finished = [call.lane for call in calls if call.how == "finished"]
        if turn.attempts and finished:
            last = turn.attempts[-1]
            held = not last["failure"] and last["lane"] == turn.lane == finished[-1]
            text = f"lane {turn.lane} is on record, {finished[-1]} answered"
            findings.expect(held, text, at=turn.ends_at, turn=turn.id)


def check_times(evidence: Evidence, findings: Findings) -> None:
    """The times of a turn are in order, and a turn that ended without a reply says so with a drafted line."""
    for turn in evidence.turns.values():
        moments = [turn.created_at, turn.admitted_at, turn.first_word_at, turn.closed_at]
        known = [at for at in moments if at is not None]
        clock = evidence.faults.touch(known[0], known[-1], ("clock",), settle_s=0.0)
        text = "the times of the turn are not in order"
        findings.expect(known == sorted(known) or clock, text, at=turn.created_at, turn=turn.id)
        if turn.state in ("paused", "refused", "safety"):
            text = f"the {turn.state} turn has no drafted line"
            findings.expect(bool(turn.line), text, at=turn.ends_at, turn=turn.id)


def check_nothing_left(evidence: Evidence, findings: Findings) -> None:
    """After the end nothing runs, nothing is held, and nothing lies in scratch folders."""
    at = evidence.ended_at
    findings.checked += 1
    for row in evidence.history.rows("left"):
        findings.expect(False, f"a {row['kind']} is left: {row['name']}", at=at)
    chunks = Counter(int(row["turn"]) for row in evidence.history.rows("chunks"))
    for turn, count in chunks.items():
        findings.expect(False, f"{count} chunks are not folded into their turn", at=at, turn=turn)
    for call in evidence.calls:
        who = f"provider:{call.lane}"
        findings.expect(
            bool(call.how), f"call {call.call} is open after the end", at=at, who=who, turn=call.turn
        )


RULES = (
    OrdealRule(name="acts-on-record", promise="Every act of staff is on the audit record", check=check_acts),
    OrdealRule(
        name="granted-is-stored", promise="What was granted to staff is stored, once", check=check_granted
    ),
    OrdealRule(name="attempts-on-record", promise="Every call of a reply is on record", check=check_attempts),
    OrdealRule(
        name="times-in-order", promise="Times of a turn are in order, and lines are there", check=check_times
    ),
    OrdealRule(
        name="nothing-left", promise="Nothing is left running, held or lying", check=check_nothing_left
    ),
)
