"""PURE. The frames that a staff page sends, version 1 of `/ws/staff/`, and what is wrong with one that is refused."""

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from companion.frames import MAX_FRAME_BYTES, clean_text
from companion.supervision.states import FlagOutcome, PauseScope

Id = Annotated[int, Field(ge=1, lt=2**63, strict=True)]
Text = Annotated[str, Field(max_length=MAX_FRAME_BYTES)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    ref: str = Field(default="", max_length=64)
    """Chosen by the page. It stands in the answer."""


class Watch(_Request):
    """Read along. `reason`: of an operator who does not supervise the site."""

    type: Literal["watch"]
    conversation: Id
    reason: Text = ""


class Unwatch(_Request):
    """Read along no more."""

    type: Literal["unwatch"]
    conversation: Id


class Seen(_Request):
    """This screen shows the flag with so many causes. A page of the release before names no number."""

    type: Literal["seen"]
    flag: Id
    count: int = Field(default=1, ge=1, lt=2**31)


class Accept(_Request):
    """Become the owner of an open flag."""

    type: Literal["accept"]
    flag: Id


class Note(_Request):
    """Add a note to a flag."""

    type: Literal["note"]
    flag: Id
    text: Text


class Hand(_Request):
    """Offer a flag to a colleague, by the id of their account."""

    type: Literal["hand"]
    flag: Id
    to: Id


class TakeOn(_Request):
    """Take on a flag that was handed to this person; with `from`, from the owner with this id."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    type: Literal["take_on"]
    flag: Id
    from_owner: Id | None = Field(default=None, alias="from")


class Close(_Request):
    """Close a flag that this person owns."""

    type: Literal["close"]
    flag: Id
    outcome: FlagOutcome
    note: Text = ""


class TakeOver(_Request):
    """Speak instead of the companion."""

    type: Literal["take_over"]
    conversation: Id


class StaffSay(_Request):
    """Words to the participant. The page repeats `key` when it sends them again."""

    type: Literal["say"]
    conversation: Id
    key: UUID
    text: Text


class StaffWriting(_Request):
    """This person is typing to the participant. Without any text, and not answered."""

    type: Literal["writing"]
    conversation: Id


class HandBack(_Request):
    """Let the companion speak again."""

    type: Literal["hand_back"]
    conversation: Id


class Release(_Request):
    """Let the companion speak again after a red message."""

    type: Literal["release"]
    conversation: Id


class Pause(_Request):
    """Pause the companion for the participant or the site with this id, or for everyone."""

    type: Literal["pause"]
    scope: PauseScope
    id: int = Field(default=0, ge=0, lt=2**63)
    reason: Text = ""


class Resume(_Request):
    """End a pause."""

    type: Literal["resume"]
    scope: PauseScope
    id: int = Field(default=0, ge=0, lt=2**63)


class EndVisit(_Request):
    """End a participant's visit."""

    type: Literal["end_visit"]
    visit: UUID


class Search(_Request):
    """Find people by the beginning of a name, or of the name of a site."""

    type: Literal["search"]
    text: Annotated[str, Field(max_length=100)]


class StaffPing(_Request):
    """Keeps the connection alive. Answered with `pong`."""

    type: Literal["ping"]


Request = (
    Watch
    | Unwatch
    | Seen
    | Accept
    | Note
    | Hand
    | TakeOn
    | Close
    | TakeOver
    | StaffSay
    | StaffWriting
    | HandBack
    | Release
    | Pause
    | Resume
    | EndVisit
    | Search
    | StaffPing
)
_requests: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="type")])
_NAMED_IDS = ("conversation", "flag", "visit", "key", "scope", "id")
_TYPES = frozenset(str(option.model_fields["type"].annotation.__args__[0]) for option in Request.__args__)


class RequestRefused(Exception):
    """A frame that cannot be acted on. `act` is its type where that is known; `facts` are its ids, as they came."""

    def __init__(self, code: str, *, act: str = "", facts: dict[str, Any] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.act = act
        self.facts = facts or {}


def parse_request(text: str | None) -> Request:
    """Parse a frame. Raises RequestRefused: `bad_frame`, or `too_long` for a frame over 64 KiB."""
    if text is None:
        raise RequestRefused("bad_frame")
    if len(text) > MAX_FRAME_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_FRAME_BYTES:
        raise RequestRefused("too_long")
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        raise RequestRefused("bad_frame") from None
    if not isinstance(loaded, dict):
        raise RequestRefused("bad_frame")
    for name, value in loaded.items():
        if isinstance(value, str):
            loaded[name] = clean_text(value)
    try:
        return _requests.validate_python(loaded)
    except (ValueError, RecursionError, ValidationError):
        act = loaded.get("type")
        known = act if isinstance(act, str) and act in _TYPES else ""
        raise RequestRefused("bad_frame", act=known, facts=name_facts(loaded)) from None


def name_facts(frame: dict[str, Any]) -> dict[str, Any]:
    """The ids in a frame, and its `ref`, for the answer. Long values are left out."""
    facts = {}
    for name in (*_NAMED_IDS, "ref"):
        value = frame.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
            facts[name] = value
        elif isinstance(value, str) and value and len(value) <= 64:
            facts[name] = value  # type: ignore[assignment]
    return facts
