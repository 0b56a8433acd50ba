"""Rules about accepted messages and the ends of their turns (T11, T13, Q3, Q4). PURE."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ops.ordeal.judge.evidence import LIVE_STATES, Evidence, JudgedTurn
from ops.ordeal.judge.fault_times import BREAKERS_REST_S, ON_ALL, ON_PROCESSES, ON_PROVIDERS, ON_STORAGE
from ops.ordeal.judge.findings import Findings, OrdealRule

CLOCKS_DIFFER_S = 0.5
"""Between a time of the database and one of the runner."""
FREE_SLOT_S = 3.0
"""A slot that stays free for longer while a turn waits was missed: the slowest way to it is a tick of a second."""
KILLED = (-9, 137)
"""Exit codes of a process that was killed."""
SWEPT_WITHIN_S = 15.0
"""From the death of a process to the end of its turns (T11)."""


def check_accepted(evidence: Evidence, findings: Findings) -> None:
    """Every accepted message is stored as the turn that the page was named, with its text."""
    texts = {
        str(frame["key"]): str(frame["text"]).replace("\x00", "")
        for story in evidence.pages
        for _, frame in story.frames("sent")
        if frame.get("type") == "say"
    }
    for story in evidence.pages:
        conversation = evidence.conversation_of.get(story.name)
        for event, frame in story.frames("got"):
            if frame.get("type") != "accepted":
                continue
            turn = evidence.turns.get(int(frame["turn"]))
            key = str(frame["key"])
            held = turn is not None and turn.key == key and turn.conversation == conversation
            if held and turn is not None and key in texts:
                held = turn.question == texts[key]
            text = (
                "the accepted message is not stored as this turn"
                if turn
                else "the accepted turn is not stored"
            )
            findings.expect(held, text, at=event.at, who=story.who, turn=int(frame["turn"]))


def check_once(evidence: Evidence, findings: Findings) -> None:
    """A message that is sent again stays one turn, and every turn has a message that its person sent."""
    stored = Counter((turn.conversation, turn.key) for turn in evidence.turns.values())
    sent = {
        (evidence.conversation_of.get(story.name), str(frame["key"]))
        for story in evidence.pages
        for _, frame in story.frames("sent")
        if frame.get("type") in ("say", "ask_again")
    }
    for turn in evidence.turns.values():
        place = (turn.conversation, turn.key)
        findings.expect(
            stored[place] == 1, f"the message is {stored[place]} turns", at=turn.created_at, turn=turn.id
        )
        findings.expect(place in sent, "no page has sent this message", at=turn.created_at, turn=turn.id)


def check_every_turn_ends(evidence: Evidence, findings: Findings) -> None:
    """Every turn has an end, within its wait and its reply and the time that faults were in force."""
    wait_s = float(evidence.limits.get("wait_ceiling_s", 0.0))
    reply_s = float(evidence.limits.get("end_within_s", float("inf")))
    for turn, starts in _with_starts(evidence):
        if turn.closed_at is None or turn.state in LIVE_STATES:
            findings.expect(False, f"the turn is {turn.state} after the end", at=starts, turn=turn.id)
            continue
        faults_s = evidence.faults.seconds(starts, turn.closed_at, ON_ALL)
        took_s = turn.closed_at - starts
        text = f"the turn ended after {took_s:.1f} s, {faults_s:.1f} s of them under faults"
        within_s = evidence.load.allow(wait_s + reply_s, starts, turn.closed_at)
        findings.expect(took_s <= within_s + faults_s, text, at=turn.closed_at, turn=turn.id)


def check_swept(evidence: Evidence, findings: Findings) -> None:
    """The live turns of a process that was killed end within 15 s, while the database can be reached."""
    deaths: dict[str, float] = {}
    running: dict[str, str] = {}
    for event in evidence.history.of("process", "started", "ended"):
        if event.what == "started":
            running[event.name] = str(event.data["id"])
        elif event.data.get("code") in KILLED and event.name in running:
            deaths[running[event.name]] = event.at
    for turn in evidence.turns.values():
        died_at = deaths.get(turn.owner)
        if died_at is None or not turn.created_at < died_at < turn.ends_at:
            continue
        ends = min(turn.ends_at, evidence.ended_at)
        # The others sweep. While one of them is down or starts, it cannot.
        others = set(evidence.process_names.values()) - {evidence.process_names[turn.owner]}
        faults_s = max(
            (
                evidence.faults.seconds(died_at, ends, ON_STORAGE | ON_PROCESSES, target=other)
                for other in others
            ),
            default=ends - died_at,
        )
        took_s = ends - died_at
        text = f"the turn of a dead process was swept after {took_s:.1f} s, {faults_s:.1f} s of them under faults"
        within_s = evidence.load.allow(SWEPT_WITHIN_S, died_at, ends)
        findings.expect(took_s <= within_s + faults_s, text, at=ends, turn=turn.id)


def check_refused(evidence: Evidence, findings: Findings) -> None:
    """A turn is refused only after its wait, and without a call."""
    for turn, starts in _with_starts(evidence):
        if turn.state != "refused":
            continue
        waited_s = turn.ends_at - starts
        full_s = float(evidence.limits.get("wait_ceiling_s", 0.0))
        text = f"the turn was refused after {waited_s:.1f} s of {full_s:.0f} s"
        findings.expect(waited_s >= full_s - CLOCKS_DIFFER_S, text, at=turn.ends_at, turn=turn.id)
        calls = evidence.calls_of.get(turn.id, ())
        findings.expect(not calls, "a provider was asked for a refused turn", at=turn.ends_at, turn=turn.id)


def check_one_at_a_time(evidence: Evidence, findings: Findings) -> None:
    """A conversation has one reply at a time, in the order of its messages."""
    for turns in evidence.turns_of.values():
        admitted = [turn for turn in turns if turn.admitted_at is not None]
        for place, turn in enumerate(admitted):
            assert turn.admitted_at is not None
            beside = [one.id for one in admitted[:place] if one.ends_at > turn.admitted_at + CLOCKS_DIFFER_S]
            text = f"the turn was admitted beside turn {beside[0] if beside else 0} of the same person"
            findings.expect(not beside, text, at=turn.admitted_at, turn=turn.id)


def check_slots_are_taken(evidence: Evidence, findings: Findings) -> None:
    """No slot stays free while a turn waits for one, unless a fault explains it."""
    speaking = sorted(
        (turn.admitted_at, turn.ends_at) for turn in evidence.turns.values() if turn.admitted_at is not None
    )
    for turn, starts in _with_starts(evidence):
        until = turn.admitted_at if turn.admitted_at is not None else turn.ends_at
        is_in_line = turn.admitted_at is not None or turn.state in ("refused", "stopped", "waiting")
        ends = min(until, evidence.ended_at)
        if not is_in_line or ends <= starts:
            continue
        findings.checked += 1
        owner = evidence.process_names.get(turn.owner)
        for begins, over in _list_free(speaking, starts, ends, _surely_free_below(evidence, starts, ends)):
            free_s = over - begins
            faults_s = evidence.faults.seconds(begins, over, ON_PROCESSES | ON_STORAGE, target=owner)
            text = (
                f"a slot was free for {free_s:.1f} s while the turn waited, "
                f"{faults_s:.1f} s of them under faults"
            )
            within_s = evidence.load.allow(FREE_SLOT_S, begins, over)
            findings.expect(free_s - faults_s <= within_s, text, at=ends, turn=turn.id)


def _surely_free_below(evidence: Evidence, starts: float, ends: float) -> int:
    """With fewer turns than this under way a slot is free on any lane. One, where lanes may take fewer than usual."""
    limits = [*evidence.limits.get("lanes", {}).values(), evidence.limits.get("ceiling", 1)]
    changed = [event for event in evidence.history.of("fault", "changed") if event.at <= ends]
    limits += [
        event.data["value"] for event in changed if event.data["subject"] == "ceiling" and event.data["value"]
    ]
    presets = any(event.data["subject"] == "preset" for event in changed)
    if presets or evidence.faults.touch(starts, ends, ON_PROVIDERS, settle_s=BREAKERS_REST_S):
        return 1
    return int(min(limits))


def _list_free(
    speaking: Sequence[tuple[float, float]], starts: float, ends: float, below: int
) -> Iterator[tuple[float, float]]:
    """Each time within these in which fewer than `below` turns spoke for longer than FREE_SLOT_S."""
    steps = sorted(
        [(max(begins, starts), 1) for begins, over in speaking if begins < ends and over > starts]
        + [(over, -1) for begins, over in speaking if starts < over < ends and begins < ends]
        + [(ends, 0)]
    )
    count, free_since = 0, starts
    for at, step in steps:
        is_over = count < below and (count + step >= below or at == ends)
        if is_over and at - free_since > FREE_SLOT_S:
            yield free_since, at
        if count >= below > count + step:
            free_since = at
        count += step


def _with_starts(evidence: Evidence) -> Iterator[tuple[JudgedTurn, float]]:
    """Each turn with the moment from which it waits: behind an earlier turn of its person it does not wait yet."""
    closed: dict[int, float] = defaultdict(float)
    for turn in evidence.turns.values():
        yield turn, max(turn.created_at, min(closed[turn.conversation], turn.ends_at))
        if turn.closed_at is not None:
            closed[turn.conversation] = max(closed[turn.conversation], turn.closed_at)


RULES = (
    OrdealRule(
        name="accepted-is-stored",
        promise="Nothing that was accepted is missing or changed",
        check=check_accepted,
    ),
    OrdealRule(name="one-turn", promise="A message is exactly one turn", check=check_once),
    OrdealRule(
        name="every-turn-ends",
        promise="Every turn has an end within its deadline",
        check=check_every_turn_ends,
    ),
    OrdealRule(
        name="dead-are-swept",
        promise=f"The turns of a dead process end within {SWEPT_WITHIN_S:.0f} s",
        check=check_swept,
    ),
    OrdealRule(
        name="refused-in-time",
        promise="A turn is refused after its full wait, and no lane is asked",
        check=check_refused,
    ),
    OrdealRule(name="one-reply", promise="A person has one reply at a time", check=check_one_at_a_time),
    OrdealRule(
        name="slots-are-taken", promise="No slot stays free while a turn waits", check=check_slots_are_taken
    ),
)
