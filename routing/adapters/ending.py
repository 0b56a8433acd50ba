"""How a stream ended, as its wire understood it."""

from dataclasses import dataclass

from routing.errors import FailureClass


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamEnding:
    """`failure` is None for a reply that is whole, or whole as far as the provider's length limit let it be."""

    failure: FailureClass | None
    code: str | None = None
    truncated: bool = False
