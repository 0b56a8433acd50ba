"""Every frame of the socket, version 1: what a page may send, and what it receives."""

import json
import re
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

import regex
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from companion.supervision.entry_view import EntryView
from companion.supervision.states import EntryKind

VERSION = 1
MAX_MESSAGE_CHARS = 4_000
"""Unicode code points in one message."""
MAX_FRAME_BYTES = 65_536
"""Bytes of UTF-8 in one frame."""

# The page uses the same set of characters: companion/static/companion/message.js.
_VISIBLE = regex.compile(
    r"[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\N{BRAILLE PATTERN BLANK}"
    r"\N{MUSICAL SYMBOL NULL NOTEHEAD}]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class FrameRefused(Exception):
    """A frame that cannot be acted on. `code` goes into the `problem` frame: bad_frame, too_long or empty."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class _Frame(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Say(_Frame):
    """A message. The page chooses `key` for its first sending and repeats it when it sends the message again."""

    type: Literal["say"]
    key: UUID
    text: str


class _AboutTurnOrEntry(_Frame):
    chunk: ClassVar[str]
    """The field that comes with a turn."""
    turn: int | None = Field(default=None, ge=1, lt=2**63)
    entry: int | None = Field(default=None, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.turn is None) == (self.entry is None):
            raise ValueError("name a turn or an entry")
        if self.turn is not None and self.chunk not in self.model_fields_set:
            raise ValueError("name a chunk of the turn")
        return self


class CatchUp(_AboutTurnOrEntry):
    """Request the chunks after chunk `after` of a turn, or the entries after `entry`."""

    chunk = "after"
    type: Literal["catch_up"]
    after: int = Field(default=0, ge=0, lt=2**31)


class Help(_Frame):
    """*Talk to a person*. Answered with `help`."""

    type: Literal["help"]


class Writing(_Frame):
    """The participant is typing. Never contains what."""

    type: Literal["writing"]


class Stop(_Frame):
    """Stop a reply, or leave the waiting room."""

    type: Literal["stop"]
    turn: int = Field(ge=1, lt=2**63)


class AskAgain(_Frame):
    """Ask a kept question again as a new turn with this `key`."""

    type: Literal["ask_again"]
    turn: int = Field(ge=1, lt=2**63)
    key: UUID


class LetGo(_Frame):
    """Stop offering a kept question. Answered with `kept`."""

    type: Literal["let_go"]
    turn: int = Field(ge=1, lt=2**63)


class Ack(_AboutTurnOrEntry):
    """The page has shown everything up to chunk `seq` of a turn, or up to an entry."""

    chunk = "seq"
    type: Literal["ack"]
    seq: int = Field(default=0, ge=0, lt=2**31)


class Active(_Frame):
    """A key, a touch or the pointer has given a sign of life; sent at most every twenty seconds."""

    type: Literal["active"]


class Ping(_Frame):
    """Keeps the connection alive. Answered with `pong`."""

    type: Literal["ping"]


Frame = Say | AskAgain | LetGo | CatchUp | Stop | Ack | Help | Writing | Active | Ping
_incoming: TypeAdapter[Frame] = TypeAdapter(Annotated[Frame, Field(discriminator="type")])


def parse_frame(text: str | None) -> Frame:
    """Parse a frame. Raises FrameRefused for an unknown or malformed one, and for a message empty or too long."""
    if text is None:
        raise FrameRefused("bad_frame")
    # Measured before parsing. The length is checked first because a code point has at least one byte.
    if len(text) > MAX_FRAME_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_FRAME_BYTES:
        raise FrameRefused("too_long")
    try:
        loaded = json.loads(text)
        if isinstance(loaded, dict) and isinstance(loaded.get("text"), str):
            loaded["text"] = clean_text(loaded["text"])
        frame = _incoming.validate_python(loaded)
    except (ValueError, RecursionError, ValidationError):
        raise FrameRefused("bad_frame") from None
    if isinstance(frame, Say):
        if len(frame.text) > MAX_MESSAGE_CHARS:
            raise FrameRefused("too_long")
        if not is_visible(frame.text):
            raise FrameRefused("empty")
    return frame


def clean_text(text: str) -> str:
    """Make `text` storable in PostgreSQL: remove NUL, and replace each lone surrogate by U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text.replace("\x00", ""))


def is_visible(text: str) -> bool:
    """Whether a reader would see something of this text."""
    return bool(_VISIBLE.search(text))


def serialize_frame(frame: dict[str, Any]) -> str:
    """Return a frame as JSON text."""
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))


def hello(
    persona: str,
    conversation: int,
    turns: list[dict[str, Any]],
    kept: list[dict[str, Any]],
    *,
    has_earlier: bool,
    person: dict[str, str] | None = None,
    is_quiet: bool = False,
    pause_line: str = "",
    idle: tuple[float, float] | None = None,
    look: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The first frame: who speaks, the last turns and whether there are others before them, and the kept questions as
    in a `kept` frame.

    Among `turns` stand the entries, each after the turn that it follows: {"entry", "kind", "key", "name", "text",
    "at"}. `person` is {"name", "since"} of the member of staff who has taken over. `pause_line` is the drafted line
    about a pause by staff. `idle` is after how many seconds without a sign of life the page locks, and how many are
    left. `look` has the attributes that the page of this participant carries (`needs.look`).
    """
    return {
        "type": "hello",
        "v": VERSION,
        "persona": {"name": persona},
        "conversation": {
            "id": conversation,
            "turns": turns,
            "earlier": has_earlier,
            "kept": kept,
            "person": person,
            "quiet": is_quiet,
            "paused": bool(pause_line),
            "pause_line": pause_line,
            "look": look or {},
        },
        "idle": _idle(idle),
    }


def look(
    attributes: dict[str, str], *, language: str, idle: tuple[float, float] | None = None
) -> dict[str, Any]:
    """What is recorded of the participant's needs has changed: the same facts as in `hello`, and their language."""
    return {
        "type": "look",
        "look": attributes,
        "language": language,
        "idle": _idle(idle),
    }


def _idle(limits: tuple[float, float] | None) -> dict[str, float] | None:
    return None if limits is None else {"after_s": limits[0], "left_s": round(limits[1], 1)}


def accepted(key: UUID, turn: int) -> dict[str, Any]:
    """The message is stored as this turn."""
    return {"type": "accepted", "key": str(key), "turn": turn}


def waiting(turn: int, line: str) -> dict[str, Any]:
    """The turn waits for its place."""
    return {"type": "waiting", "turn": turn, "line": line}


def kept(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """The kept questions as they are now, oldest first: [{"turn", "question", "line"}]. Replaces what the page has."""
    return {"type": "kept", "questions": questions}


def still_here(turn: int, line: str) -> dict[str, Any]:
    """The turn is admitted and has no word after some seconds. The first word replaces the line."""
    return {"type": "still_here", "turn": turn, "line": line}


def opening(turn: int, opening: dict[str, str]) -> dict[str, Any]:
    """A drafted line just before the first words."""
    return {"type": "opening", "turn": turn, "kind": opening["kind"], "line": opening["line"]}


def words(turn: int, seq: int, text: str) -> dict[str, Any]:
    """A stored chunk of the reply."""
    return {"type": "words", "turn": turn, "seq": seq, "text": text}


def ending(
    turn: int, state: str, seq: int, line: str, *, is_unread: bool = False, kind: str = ""
) -> dict[str, Any]:
    """The closing frame of a turn: complete and stopped name the last chunk; paused and refused have a line.

    So has a reply that ended at the length limit or with a goodbye (`kind`), and a turn that was stopped before
    anything had read its question: `unread` says that its words belong back in the box.
    """
    match state:
        case "complete" if kind:
            return {"type": state, "turn": turn, "seq": seq, "line": line, "kind": kind}
        case "stopped" if is_unread:
            return {"type": state, "turn": turn, "seq": seq, "line": line, "unread": True}
        case "complete" if line:
            return {"type": state, "turn": turn, "seq": seq, "line": line}
        case "complete" | "stopped":
            return {"type": state, "turn": turn, "seq": seq}
        case "refused":
            return {"type": state, "turn": turn, "line": line, "unread": is_unread}
        case _:
            return {"type": "paused", "turn": turn, "seq": seq, "line": line}


def safety(turn: int, line: str) -> dict[str, Any]:
    """The message was red: its turn ends with this line."""
    return {"type": "safety", "turn": turn, "line": line}


def held(turn: int, line: str) -> dict[str, Any]:
    """The message is stored while the companion is quiet. `line` is empty if it was shown before."""
    return {"type": "held", "turn": turn, "line": line}


def handed_over(turn: int, seq: int) -> dict[str, Any]:
    """A person reads the message, and no more of its reply comes. Its words up to `seq` stay; 0: none of them."""
    return {"type": "handed_over", "turn": turn, "seq": seq}


def entry(view: EntryView) -> dict[str, Any]:
    """What stands beside the turns, after turn `after` (0: before all of them).

    `said` are words of a person, `person` says that one joins, leaves or lost their screen. The others are drafted
    lines.
    """
    place = {"id": view.entry, "after": view.after_turn}
    match EntryKind(view.kind):
        case EntryKind.SAID:
            key = None if view.key is None else str(view.key)
            words = {"from": "person", "name": view.name, "text": view.text, "at": view.at.isoformat()}
            return {"type": "said", **place, "key": key, **words}
        case EntryKind.JOINS | EntryKind.LEAVES | EntryKind.LOST:
            return {"type": "person", **place, "state": view.kind, "name": view.name, "line": view.text}
        case EntryKind.HELP:
            return {"type": "help", **place, "line": view.text}
        case EntryKind.READING:
            return {"type": "reading", **place, "line": view.text}
        case EntryKind.DISCLOSURE:
            raise ValueError("what is disclosed is an opening of its turn")


def staff_pause(line: str, *, is_paused: bool) -> dict[str, Any]:
    """Staff have paused the companion here, or a pause is over: whatever the page shows of its turns."""
    return {"type": "staff_pause", "paused": is_paused, "line": line}


def person_writing(line: str) -> dict[str, Any]:
    """The person who has taken over is typing. Not stored."""
    return {"type": "person_writing", "line": line}


def writing() -> dict[str, Any]:
    """For staff who watch: the participant is typing. Not stored."""
    return {"type": "writing"}


def problem(code: str, line: str) -> dict[str, Any]:
    """A frame could not be acted on; the socket stays open."""
    return {"type": "problem", "code": code, "line": line}


def over(reason: str) -> dict[str, Any]:
    """The visit has ended, or is locked (`idle`), and the socket closes. `reason` is an `EndReason`; empty: unknown."""
    return {"type": "over", "reason": reason}


PONG: dict[str, Any] = {"type": "pong"}
