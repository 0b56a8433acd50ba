"""Why a story does not come to its end.

CannotPlay     nothing was begun: no service, or a lane that is not the rehearsal provider; says the mend
StoryBroke     it was begun, and the service did something that it never should
"""


class CannotPlay(Exception):
    """The story cannot be played here. The text says why, and what mends it."""


class StoryBroke(Exception):
    """The story came to an end nobody promised. The text says where."""
