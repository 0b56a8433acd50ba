"""The outcome of a change: made now, made before, or refused."""

from dataclasses import dataclass

from companion.cards import Card


class ChangeRefused(Exception):
    """Nothing was changed; the sentence says why, and what to do instead."""


class ParticipantNotFound(ChangeRefused):
    """There is no participant of this name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeResult:
    """The change is made. `secret`, a password, and `card` are shown once and not stored."""

    sentence: str
    is_new: bool = True
    """Whether this call made and recorded it. False: it was so before."""
    secret: str = ""
    card: Card | None = None
