"""What came of asking for a change: done, done before, or refused."""

from dataclasses import dataclass

from companion.cards import Card


class Refused(Exception):
    """Nothing was changed; the sentence says why, and what to do instead."""


class NobodyNamed(Refused):
    """There is no participant of this name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """It stands as was asked for. `secret`, a password, and `card` are shown once and kept nowhere."""

    sentence: str
    is_new: bool = True
    """Whether anything was changed now, and is on record; it may have stood like this before."""
    secret: str = ""
    card: Card | None = None
