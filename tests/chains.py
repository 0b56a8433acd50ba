"""Lanes for tests: as objects, and as tables of a routing file."""

from dataclasses import replace
from typing import Any

from routing.contracts import Lane

_LANE = Lane(
    name="one",
    adapter="openai",
    base_url="http://127.0.0.1:9/v1",
    model="rehearsal-1",
    api_key_env=None,
    failure_domain="one",
    region="uk",
    context_tokens=8_000,
    max_in_flight=10,
    connect_ms=1_000,
    first_word_ms=2_000,
    idle_ms=5_000,
)
_IN_THE_FILE = (
    "adapter",
    "base_url",
    "model",
    "failure_domain",
    "region",
    "context_tokens",
    "max_in_flight",
    "connect_ms",
    "first_word_ms",
    "idle_ms",
    "reply_ms",
    "max_tokens",
)


def lane(name: str, **changes: Any) -> Lane:
    """A lane with a failure domain of its own and no key, at an address without a listener."""
    return replace(_LANE, name=name, **{"failure_domain": name, **changes})


def lane_text(name: str, **changes: Any) -> str:
    """The same lane as a table of a routing file."""
    made = lane(name, **changes)
    values = {key: getattr(made, key) for key in _IN_THE_FILE}
    written = [
        f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"'
        for key, value in values.items()
    ]
    return "\n".join([f"[lanes.{name}]", *written, "", ""])
