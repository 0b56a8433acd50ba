"""What one socket shows of each reply, frame by frame, as the page puts it together. PURE."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ops.ordeal.history import HistoryEvent
from ops.ordeal.judge.evidence import SocketStory

ENDING_FRAMES = frozenset({"complete", "stopped", "paused", "refused", "safety", "held", "handed_over"})
ENDED_STATES = frozenset({"complete", "stopped", "paused", "refused", "safety", "handed_over"})


@dataclass(slots=True)
class ShownReply:
    """One turn on one socket. `text` begins at the first word unless the socket joined in the middle."""

    turn: int
    text: str = ""
    seq: int = 0
    starts_at_first: bool = True
    ending: str = ""
    line: str = ""
    has_hole: bool = False
    """A chunk is missing: the text is not compared any more."""
    offsets: dict[int, int] = field(default_factory=lambda: {0: 0})
    """The length of the text after each chunk."""
    asked_from: set[int] = field(default_factory=set)
    """The chunks after which the page has asked to be sent the reply again."""

    def add(self, seq: int, text: str) -> str:
        """Add a chunk. Returns what is wrong with its place, or an empty text."""
        if seq != self.seq + 1:
            if seq - 1 not in self.asked_from:
                # A page drops what it has; a gap it cannot fill by itself.
                was, self.seq = self.seq, max(seq, self.seq)
                self.has_hole |= seq > was
                return f"chunk {seq} came after chunk {was}"
            self._cut_back(seq - 1)
        elif self.ending and not self.asked_from:
            return f"chunk {seq} came after the end ({self.ending})"
        self.text += text
        self.seq = seq
        self.offsets[seq] = len(self.text)
        return ""

    def _cut_back(self, seq: int) -> None:
        known = self.offsets.get(seq)
        self.starts_at_first = (known is not None and self.starts_at_first) or seq == 0
        self.text = "" if known is None else self.text[:known]
        self.offsets = {number: length for number, length in self.offsets.items() if number <= seq}
        self.offsets[seq] = len(self.text)
        self.seq, self.ending = seq, ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownStep:
    """A frame about a reply, and the reply after it. `fault` says what is wrong with its place."""

    event: HistoryEvent
    frame: Mapping[str, Any]
    kind: str
    reply: ShownReply
    fault: str = ""


def replay_socket(story: SocketStory) -> Iterator[ShownStep]:
    """Each frame of a socket that changes a reply, with the reply as it then stands.

    `kind` is `snapshot`, `accepted`, `waiting`, `words`, or the type of the ending.
    """
    replies: dict[int, ShownReply] = {}
    for event, frame in story.frames("hello", "got", "sent"):
        kind = str(frame.get("type", ""))
        if event.what == "sent":
            if kind == "catch_up" and frame.get("turn") in replies:
                replies[frame["turn"]].asked_from.add(int(frame.get("after") or 0))
            continue
        for snapshot in find_snapshots(frame):
            reply = replies[snapshot["id"]] = _start_from(snapshot)
            yield ShownStep(event=event, frame=snapshot, kind="snapshot", reply=reply)
        turn = frame.get("turn")
        if not isinstance(turn, int):
            continue
        if kind in ("accepted", "waiting"):
            reply = replies.setdefault(turn, ShownReply(turn))
            yield ShownStep(event=event, frame=frame, kind=kind, reply=reply)
        elif kind == "words":
            reply = replies.setdefault(turn, ShownReply(turn))
            fault = reply.add(int(frame["seq"]), str(frame["text"]))
            yield ShownStep(event=event, frame=frame, kind=kind, reply=reply, fault=fault)
        elif kind in ENDING_FRAMES:
            reply = replies.setdefault(turn, ShownReply(turn))
            fault = "a second end came" if reply.ending and not reply.asked_from else ""
            reply.ending, reply.line = kind, str(frame.get("line") or "")
            yield ShownStep(event=event, frame=frame, kind=kind, reply=reply, fault=fault)


def find_snapshots(frame: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The snapshots of turns in a page's `hello` or in `watched` of staff; entries among them are left out."""
    conversation = frame.get("conversation")
    holder = conversation if isinstance(conversation, Mapping) else frame
    return (item for item in holder.get("turns") or () if "id" in item)


def _start_from(snapshot: Mapping[str, Any]) -> ShownReply:
    text, seq = str(snapshot.get("reply") or ""), int(snapshot.get("seq") or 0)
    state = str(snapshot["state"])
    # A paused turn, and one that a red message ended, are shown without their words.
    hidden = seq > 0 and not text
    return ShownReply(
        turn=int(snapshot["id"]),
        text=text,
        seq=seq,
        starts_at_first=not hidden,
        ending=state if state in ENDED_STATES else "",
        line=str(snapshot.get("line") or ""),
        offsets={0: 0, seq: len(text)},
    )
