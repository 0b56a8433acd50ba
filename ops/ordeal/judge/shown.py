"""Rules about what pages and screens were shown of replies (T9, T10, T11, T12). PURE."""

from typing import Any

from ops.ordeal.judge.evidence import Evidence, SocketStory
from ops.ordeal.judge.findings import Findings, OrdealRule
from ops.ordeal.judge.shown_replies import ShownReply, replay_socket

# A page may read as paused what its owner goes on with: a heartbeat was late. The other ends are final.
STATES_OF_ENDING = {
    "complete": {"complete"},
    "stopped": {"stopped"},
    "refused": {"refused"},
    "safety": {"safety"},
    "held": {"handed_over"},
    "handed_over": {"handed_over"},
}


def check_shown_is_stored(evidence: Evidence, findings: Findings) -> None:
    """What a socket showed of a reply is a beginning of the stored reply; a whole reply is all of it."""
    for story in evidence.sockets:
        last: dict[int, tuple[float, ShownReply]] = {}
        for step in replay_socket(story):
            if step.kind == "snapshot" or step.kind in STATES_OF_ENDING:
                _compare(evidence, findings, story, step.reply, at=step.event.at)
            last[step.reply.turn] = (step.event.at, step.reply)
        for at, reply in last.values():
            _compare(evidence, findings, story, reply, at=at)


def _compare(
    evidence: Evidence, findings: Findings, story: SocketStory, reply: ShownReply, *, at: float
) -> None:
    where: dict[str, Any] = {"at": at, "who": story.who, "turn": reply.turn}
    turn = evidence.turns.get(reply.turn)
    if turn is None:
        findings.expect(False, "the turn is shown and not stored", **where)
        return
    if reply.has_hole:
        return
    if not reply.starts_at_first:
        findings.expect(reply.text in turn.reply, "text is shown that is not in the stored reply", **where)
        return
    held = turn.reply.startswith(reply.text)
    findings.expect(held, _first_difference(reply.text, turn.reply), **where)
    if reply.ending in ("complete", "stopped"):
        found = f"{len(reply.text)} of {len(turn.reply)} characters are shown at the end ({reply.ending})"
        findings.expect(len(reply.text) == len(turn.reply), found, **where)


def _first_difference(shown: str, stored: str) -> str:
    if len(shown) > len(stored) and shown.startswith(stored):
        return f"{len(shown)} characters are shown, {len(stored)} are stored"
    place = next(
        (at for at, (ours, theirs) in enumerate(zip(shown, stored, strict=False)) if ours != theirs), 0
    )
    return f"what is shown differs from what is stored at character {place}"


def check_order(evidence: Evidence, findings: Findings) -> None:
    """Every chunk comes once and in order, and nothing comes after the end, unless the page asked for it again."""
    for story in evidence.sockets:
        for step in replay_socket(story):
            if step.kind == "words" or step.kind in STATES_OF_ENDING or step.kind == "paused":
                at, turn = step.event.at, step.reply.turn
                findings.expect(not step.fault, step.fault, at=at, who=story.who, turn=turn)


def check_one_text(evidence: Evidence, findings: Findings) -> None:
    """All sockets are sent the same text as the same chunk."""
    known: dict[tuple[int, int], str] = {}
    for story in evidence.sockets:
        for event, frame in story.frames("got"):
            if frame.get("type") == "words":
                place = (int(frame["turn"]), int(frame["seq"]))
                same = known.setdefault(place, frame["text"]) == frame["text"]
                text = f"chunk {place[1]} has another text than on another socket"
                findings.expect(same, text, at=event.at, who=story.who, turn=place[0])


def check_ending_state(evidence: Evidence, findings: Findings) -> None:
    """The end that a socket shows is the state that is stored."""
    for story in evidence.sockets:
        for step in replay_socket(story):
            turn = evidence.turns.get(step.reply.turn)
            if turn is not None and step.kind in STATES_OF_ENDING:
                found = f"the page shows {step.kind}, stored is {turn.state}"
                held = turn.state in STATES_OF_ENDING[step.kind]
                findings.expect(held, found, at=step.event.at, who=story.who, turn=turn.id)


def check_every_page_ends(evidence: Evidence, findings: Findings) -> None:
    """A page that is open when the run ends shows the end of every turn: none stays *writing* or *waiting*."""
    for story in evidence.pages:
        # What a page that closed before shows next is on another socket.
        if story.closed_at < evidence.ended_at:
            continue
        replies = {step.reply.turn: step.reply for step in replay_socket(story)}
        for reply in replies.values():
            text = f"the page still waits for the end, after chunk {reply.seq}"
            findings.expect(bool(reply.ending), text, at=evidence.ended_at, who=story.who, turn=reply.turn)


MAX_UNACKNOWLEDGED = 200
"""Chunks that a page may be sent beyond what it has acknowledged; DESIGN.md, the socket."""


def check_acknowledgements(evidence: Evidence, findings: Findings) -> None:
    """A page that acknowledges nothing is sent no more than its bound of chunks."""
    for story in evidence.pages:
        unread: list[tuple[int, int]] = []
        for event, frame in story.frames("got", "sent"):
            kind = frame.get("type")
            if event.what == "sent":
                if kind == "ack" and "turn" in frame:
                    unread = _acknowledge(unread, int(frame["turn"]), int(frame.get("seq") or 0))
                elif kind == "catch_up":
                    unread = [place for place in unread if place[0] != frame.get("turn")]
            elif kind == "words":
                unread.append((int(frame["turn"]), int(frame["seq"])))
                text = f"{len(unread)} chunks are not acknowledged"
                held = len(unread) <= MAX_UNACKNOWLEDGED
                findings.expect(held, text, at=event.at, who=story.who, turn=int(frame["turn"]))


def _acknowledge(unread: list[tuple[int, int]], turn: int, seq: int) -> list[tuple[int, int]]:
    """What stays unread: frames arrive in order, so that everything before the acknowledged chunk is read too."""
    for place, (sent, sent_seq) in reversed(list(enumerate(unread))):
        if sent == turn and sent_seq <= seq:
            return unread[place + 1 :]
    return unread


RULES = (
    OrdealRule(
        name="shown-is-stored",
        promise="Text shown is a beginning of the text stored, and all of it at the end",
        check=check_shown_is_stored,
    ),
    OrdealRule(
        name="words-once-in-order",
        promise="Every chunk comes once and in order, and nothing after the end",
        check=check_order,
    ),
    OrdealRule(name="one-text", promise="Every socket is sent the same chunks", check=check_one_text),
    OrdealRule(
        name="end-as-stored",
        promise="The end that a page shows is the one that is stored",
        check=check_ending_state,
    ),
    OrdealRule(
        name="no-page-stays-writing",
        promise="An open page shows the end of every turn",
        check=check_every_page_ends,
    ),
    OrdealRule(
        name="unread-is-bounded",
        promise=f"No page is sent more than {MAX_UNACKNOWLEDGED} chunks that it has not acknowledged",
        check=check_acknowledgements,
    ),
)
