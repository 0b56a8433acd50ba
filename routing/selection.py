"""PURE. Which selection of a preset is in force: reading it, which of two wins, when it ends, what speaks against it.

A selection is a row in the database, a copy on local disk, or the default that is compiled in. All three are read
here, and none is believed before it has been.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from routing.errors import SelectionInvalid
from routing.lanes import NORMAL, Routing
from validation.phrases import Phrases, explain_error

LASTS = timedelta(hours=4)
"""How long a preset other than `normal` stays selected by default."""
LASTS_AT_MOST = timedelta(days=7)
ALERT_AFTER = timedelta(hours=1)
"""Anything but `normal` that has been in force for so long is worth an alert."""
LATELY = timedelta(hours=24)
"""A lane that has not answered for so long is not known to work."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Who selected which preset, why, and until when. `expires_at` is None for `normal` alone."""

    version: int
    preset: str
    by: str
    reason: str
    at: datetime
    expires_at: datetime | None


COMPILED_IN = Selection(
    version=0,
    preset=NORMAL,
    by="release",
    reason="Nothing has been selected yet.",
    at=datetime.fromtimestamp(0, UTC),
    expires_at=None,
)
"""In force until a copy on disk or a row has been read. Nothing ever goes back to it."""


def read(document: Mapping[str, Any] | bytes, routing: Routing) -> Selection:
    """A selection from the bytes of a copy, or from a row. Raises SelectionInvalid, which names key and mend."""
    try:
        if isinstance(document, bytes):
            found = _Document.model_validate_json(document)
        else:
            found = _Document.model_validate(dict(document))
    except ValidationError as error:
        raise SelectionInvalid(
            "; ".join(str(explain_error(detail, _PHRASES)) for detail in error.errors())
        ) from None
    if found.preset not in routing.presets:
        known = ", ".join(routing.presets)
        raise SelectionInvalid(f"preset: this release has no such preset. Select one of: {known}.")
    if wrong := _wrong_expiry(found):
        raise SelectionInvalid(f"expires_at: {wrong}")
    return Selection(**found.model_dump())


def to_document(selection: Selection) -> dict[str, Any]:
    """What `read` reads: fit for JSON, for the copy on disk."""
    return {
        "version": selection.version,
        "preset": selection.preset,
        "by": selection.by,
        "reason": selection.reason,
        "at": selection.at.isoformat(),
        "expires_at": selection.expires_at.isoformat() if selection.expires_at else None,
    }


def fingerprint_document(document: Mapping[str, Any] | bytes) -> str:
    """The same for the same document: so that an invalid one is counted, logged and reported once."""
    if not isinstance(document, bytes):
        document = json.dumps(dict(document), sort_keys=True, default=str).encode("utf-8", "replace")
    return hashlib.sha256(document).hexdigest()[:16]


def pick_newest(current: Selection, candidate: Selection) -> Selection:
    """The one with the higher version; an older or equal one is never applied, in any order of reading."""
    return candidate if candidate.version > current.version else current


def effective_preset(selection: Selection, now: datetime) -> str:
    """The name of the preset in force. An expired selection is over even before a row says so."""
    return NORMAL if has_expired(selection, now) else selection.preset


def has_expired(selection: Selection, now: datetime) -> bool:
    """Whether its time is up."""
    return selection.expires_at is not None and selection.expires_at <= now


def expiry_of(preset: str, *, at: datetime, lasts: timedelta | None = None) -> datetime | None:
    """When a selection made at `at` ends. None for `normal`, which is how things are meant to be."""
    return None if preset == NORMAL else at + (lasts or LASTS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Concern:
    """Something that speaks against selecting a preset. `asks_twice`: it takes a second yes."""

    kind: Literal["head_not_lately", "one_failure_domain", "failed_drill", "no_fallback"]
    said: str
    """A sentence for the person who selects."""
    lane: str | None = None
    asks_twice: bool = True


def find_concerns(
    routing: Routing,
    preset: str,
    *,
    last_answered: Mapping[str, datetime | None],
    now: datetime,
    failed_drill: Collection[str] = (),
) -> list[Concern]:
    """What speaks against selecting `preset`. `failed_drill` names the lanes whose last drill failed.

    Raises KeyError if there is no such preset.
    """
    chain = routing.presets[preset].chain
    found: list[Concern] = []
    answered = last_answered.get(chain[0])
    if answered is None:
        said = f"{chain[0]} comes first in this chain and has not answered in the last day."
        found.append(Concern(kind="head_not_lately", lane=chain[0], said=said))
    elif now - answered >= LATELY:
        hours = int((now - answered).total_seconds() // 3600)
        said = f"{chain[0]} comes first in this chain and last answered {hours} hours ago."
        found.append(Concern(kind="head_not_lately", lane=chain[0], said=said))
    for lane in chain:
        if lane in failed_drill:
            said = f"{lane} failed its last drill and is not trusted."
            found.append(Concern(kind="failed_drill", lane=lane, said=said))
    if routing.shares_one_failure_domain(preset):
        domain = routing.lanes[chain[0]].failure_domain
        said = f"All lanes of this chain share the failure domain {domain}: they would go down together."
        found.append(Concern(kind="one_failure_domain", said=said))
    if len(chain) == 1:
        said = f"{chain[0]} is the only lane of this chain: if it fails, replies pause."
        found.append(Concern(kind="no_fallback", lane=chain[0], said=said, asks_twice=False))
    return found


# What is read.

_Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    preset: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
    by: Annotated[_Said, Field(max_length=100)]
    reason: Annotated[_Said, Field(max_length=200)]
    at: Annotated[AwareDatetime, Field(strict=False)]
    expires_at: Annotated[AwareDatetime, Field(strict=False)] | None


def _wrong_expiry(found: _Document) -> str | None:
    if found.preset == NORMAL:
        return None if found.expires_at is None else f"{NORMAL} does not expire. Leave it empty."
    if found.expires_at is None:
        return f"everything but {NORMAL} expires. Name a time."
    if found.expires_at <= found.at:
        return "lies before the selection. Name a later time."
    if found.expires_at - found.at > LASTS_AT_MOST:
        return f"is more than {LASTS_AT_MOST.days} days away. Name an earlier time."
    return None


_PHRASES: Phrases = {
    "string_too_short": ("is empty", "say it"),
    "string_too_long": ("is too long", "say it in fewer words"),
    "string_pattern_mismatch": ("is no name of a preset", "mend its spelling"),
}
