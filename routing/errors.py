"""How a call can fail.

CallFailed            one attempt on one lane did not produce a whole reply; its `failure` is a FailureClass
RoutingFileInvalid    the lanes-and-presets file cannot be used; names the line or key, and the mend
SelectionInvalid      the document that selects a preset cannot be used; names the key, and the mend
"""

from enum import StrEnum


class FailureClass(StrEnum):
    """The closed list of ways to fail. What each may do stands as a table in `routing.retry`."""

    NETWORK = "network"
    NETWORK_REUSED = "network_reused"
    """A kept connection was closed under us before a byte came back: free to ask again, once."""
    SERVER_ERROR = "server_error"
    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    FIRST_WORD_TIMEOUT = "first_word_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    REPLY_TIMEOUT = "reply_timeout"
    """Words still came when the lane's time for one reply was over: nothing is wrong with the lane."""
    INCOMPLETE = "incomplete"
    EMPTY = "empty"
    TOO_LONG = "too_long"
    MISCONFIGURED = "misconfigured"
    BAD_REQUEST = "bad_request"
    REFUSED = "refused"
    LOCAL_LIMIT = "local_limit"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


UNKNOWN_FINISH = "finish."
"""Begins the code of a reply that ended with a word of no list; the word follows."""
UNOPENED_THOUGHTS = "unopened_thoughts"
"""The code of a reply whose thoughts went out as words: no mark stood at their start."""


def unknown_finish_word(code: str | None) -> str:
    """The word of no list with which a reply ended, by its attempt's code; empty if it did not."""
    return code.removeprefix(UNKNOWN_FINISH) if code and code.startswith(UNKNOWN_FINISH) else ""


class CallFailed(Exception):
    """One attempt failed. The text of the exception is its class alone, so that logging it leaks nothing."""

    def __init__(
        self,
        failure: FailureClass,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
        bytes_received: int = 0,
    ) -> None:
        super().__init__(failure.value)
        self.failure = failure
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s
        self.bytes_received = bytes_received


class RoutingFileInvalid(Exception):
    """The lanes-and-presets file cannot be used. The text names file, key and mend."""


class SelectionInvalid(Exception):
    """A document that selects a preset cannot be used. The text names key and mend, never the value."""
