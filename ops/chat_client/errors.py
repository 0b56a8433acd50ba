"""Why a chat client stops.

ServiceUnavailable   nothing answers, it is not ready, or it refuses its name or the card; says the mend
ChatFailed           the service broke the protocol or closed the socket in the middle
"""


class ServiceUnavailable(Exception):
    """The client cannot sign in there. The text says why, and the mend."""


class ChatFailed(Exception):
    """The conversation cannot go on. The text says what the page met."""
