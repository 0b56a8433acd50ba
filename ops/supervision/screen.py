"""One open staff screen: what it was sent last, and the bounds of its person."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from ops.access import StaffAccess
from ops.bucket import Bucket
from ops.supervision.watching import ConversationWatch


@dataclass(slots=True)
class ShownScreen:
    """What one screen may see, and what it was sent last."""

    access: StaffAccess
    has_hello: bool = False
    people: dict[int, dict[str, Any]] = field(default_factory=dict)
    flags: dict[int, dict[str, Any]] = field(default_factory=dict)
    pauses: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[dict[str, Any]] = field(default_factory=list)
    offers: list[dict[str, Any]] = field(default_factory=list)
    watches: dict[int, ConversationWatch] = field(default_factory=dict)


@dataclass(slots=True)
class UserLimits:
    """Bounds of one member of staff over all screens of this process."""

    bucket: Bucket
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One act at a time, so that one person never holds all connections."""
