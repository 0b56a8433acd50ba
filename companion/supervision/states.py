"""The closed sets of supervision: tiers, states and kinds. PURE."""

from enum import StrEnum


class FlagTier(StrEnum):
    """How loud a flag rings. No later layer may lower it."""

    AMBER = "amber"
    RED = "red"


class FlagState(StrEnum):
    """A flag is open until a named member of staff accepts it, and closed only by its owner."""

    OPEN = "open"
    ACCEPTED = "accepted"
    CLOSED = "closed"


class FlagOutcome(StrEnum):
    """What the owner found."""

    CONCERN = "concern"
    NO_CONCERN = "no_concern"
    UNSURE = "unsure"


class FlagSource(StrEnum):
    """What raised the flag."""

    MESSAGE = "message"
    """A rule that read a participant's message."""
    REPLY = "reply"
    """A rule that read the companion's reply."""
    LANE = "lane"
    """A lane that read a message again, after it was stored."""
    BUTTON = "button"
    """The participant asked for a person."""
    SCREEN = "screen"
    """The screen of the member of staff who had taken over went away."""


class FlagKind(StrEnum):
    """Kinds of flags that no rule raises. The others have the kind of their rule."""

    HELP = "help"
    """The participant pressed *Talk to a person*. Its tier is red."""
    SCREEN_LOST = "screen_lost"
    """The person who had taken over is gone. Its tier is red."""
    SECOND_READING = "second_reading"
    """A lane that read the message again found it more serious than the rules did."""


class FlagStepKind(StrEnum):
    """The steps in the life of a flag."""

    OPENED = "opened"
    REPEATED = "repeated"
    SEEN = "seen"
    ACCEPTED = "accepted"
    NOTED = "noted"
    HANDED = "handed"
    TAKEN_ON = "taken_on"
    ESCALATED = "escalated"
    CLOSED = "closed"


class EntryKind(StrEnum):
    """What stands in a conversation beside its turns."""

    SAID = "said"
    """Words of the person who has taken over."""
    JOINS = "joins"
    LEAVES = "leaves"
    LOST = "lost"
    """The person who had taken over lost their screen."""
    HELP = "help"
    """The answer to *Talk to a person*."""
    DISCLOSURE = "disclosure"
    """It said that it is a computer program."""
    READING = "reading"
    """Staff read along, at a site that shows it."""


class PauseScope(StrEnum):
    """For whom staff have paused the companion."""

    PERSON = "person"
    SITE = "site"
    EVERYONE = "everyone"
