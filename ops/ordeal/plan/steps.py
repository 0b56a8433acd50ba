"""What people and staff can do, and what can go wrong, as plain data. PURE."""

from dataclasses import dataclass, field
from enum import StrEnum


class PersonAct(StrEnum):
    """One act of a participant."""

    WRITE = "write"
    WRITE_TWICE = "write_twice"
    """The second message while the reply to the first is under way."""
    WRITE_TWO_AT_ONCE = "write_two_at_once"
    PRESS_TWICE = "press_twice"
    """Send one message twice, as an impatient finger does."""
    STOP = "stop"
    """Write, and stop the reply."""
    DROP = "drop"
    """Write, lose the connection in the middle, come back to another process."""
    MOVE = "move"
    """Write, and sign in on another device in the middle: the visit moves."""
    READ_SLOWLY = "read_slowly"
    FREEZE = "freeze"
    """Write, and read nothing for a while, as a device that sleeps."""
    SECOND_TAB = "second_tab"
    SIGN_OUT = "sign_out"
    WORRY = "worry"
    """Write a worrying sentence; `how` is its tier."""
    ASK_FOR_PERSON = "ask_for_person"
    REST = "rest"


class StaffAct(StrEnum):
    """One act of a member of staff."""

    READ_ALONG = "read_along"
    ACCEPT = "accept"
    """Accept whatever flag is open."""
    CLOSE = "close"
    """Close a flag that this member owns."""
    TAKE_OVER = "take_over"
    """Take over, write, and hand back."""
    PAUSE = "pause"
    """Pause the companion for one person, and resume it."""
    END_VISIT = "end_visit"
    REOPEN_SCREEN = "reopen_screen"
    REST = "rest"


class OrdealFaultKind(StrEnum):
    """What goes wrong, in the words of the history."""

    KILL = "kill"
    TERM = "term"
    STOP = "stop"
    """SIGSTOP until SIGCONT."""
    ROLL = "roll"
    """Each web process is replaced, one after the other."""
    DATABASE = "database"
    DISK = "disk"
    CLOCK = "clock"
    LISTEN = "listen"
    VALKEY = "valkey"
    NETWORK = "network"
    PROVIDER = "provider"
    CHANGE = "change"
    """No fault: a preset, the ceiling, a right or a card is changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonStep:
    """One act after a pause. Times in seconds."""

    pause_s: float
    act: PersonAct
    takes_s: float = 0.0
    how: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StaffStep:
    """One act after a pause. `about` is the place of a person in the plan."""

    pause_s: float
    act: StaffAct
    about: int = 0
    takes_s: float = 0.0
    words: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedFault:
    """One fault. Times in seconds of the run; `how` is its variant, `amount` its size where it has one."""

    at_s: float
    lasts_s: float
    kind: OrdealFaultKind
    target: str
    how: str = ""
    amount: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PersonScript:
    """A participant's name, the code that stands in every message, where they start, and what they do."""

    name: str
    code: str
    process: int
    steps: tuple[PersonStep, ...]


@dataclass(frozen=True, kw_only=True)
class StaffScript:
    """The same for a member of staff."""

    name: str
    process: int
    steps: tuple[StaffStep, ...]


@dataclass(frozen=True, kw_only=True)
class OrdealSize:
    """How large a run is. `lasts_s` is the time of scripts and faults, in seconds."""

    people: int = 6
    staff: int = 2
    processes: int = 2
    lasts_s: float = 40.0
    ceiling: int = 3


@dataclass(frozen=True, kw_only=True)
class OrdealPlan:
    """Everything that is decided before a run."""

    seed: int
    size: OrdealSize
    people: tuple[PersonScript, ...]
    staff: tuple[StaffScript, ...]
    faults: tuple[PlannedFault, ...] = field(default=())
