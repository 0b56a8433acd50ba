"""Reads and checks the file of lanes and presets, and holds the default that needs no file."""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from routing.contracts import MAX_TOKENS, REPLY_MS, Lane, Preset, Prices
from routing.errors import RoutingFileInvalid
from validation.phrases import Phrases, explain_error

NORMAL = "normal"
"""The preset in force until another is selected."""
LONGEST_CHAIN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Routing:
    """Everything one can select from: the lanes by name, and the presets by name."""

    lanes: Mapping[str, Lane]
    presets: Mapping[str, Preset]
    file_hash: str = ""
    """Of the content of the file, 16 hexadecimal digits; empty for the default without a file."""

    @property
    def is_rehearsed(self) -> bool:
        """Whether every lane leads to the rehearsal provider, because there is no file: replies are scripted."""
        return not self.file_hash

    def weakness(self, preset: str) -> str:
        """Why the chain would go down as a whole, in words; empty if it would not."""
        chain = self.presets[preset].chain
        if len(chain) == 1:
            return f"{chain[0]} is its only lane"
        if self.shares_one_failure_domain(preset):
            return f"all its lanes share the failure domain {self.lanes[chain[0]].failure_domain}"
        return ""

    def shares_one_failure_domain(self, preset: str) -> bool:
        """Whether a chain of several lanes would go down with one of them."""
        lanes = [self.lanes[name] for name in self.presets[preset].chain]
        return len(lanes) > 1 and len({lane.failure_domain for lane in lanes}) == 1


REHEARSAL = {
    "rehearsal": "rehearsal-1",
    "rehearsal_second": "rehearsal-2",
    "rehearsal_local": "rehearsal-local",
}
"""The lanes without a file, and what each asks for: one program serves them all, and tells them apart by the model."""


def rehearsal_routing(base_url: str) -> Routing:
    """The default without a file: every lane leads to the rehearsal provider, so all of it can be tried with no key."""
    names = tuple(REHEARSAL)
    lanes = {name: _rehearsal_lane(name, base_url) for name in names}
    presets = (
        Preset(name=NORMAL, chain=names[:1]),
        Preset(name="pin_second", chain=names[1:2]),
        Preset(name="drop_first", chain=names[1:]),
        Preset(name="local_only", chain=names[2:], marking="reduced", ceiling=8),
    )
    return _routing(lanes, {preset.name: preset for preset in presets})


def _rehearsal_lane(name: str, base_url: str) -> Lane:
    return Lane(
        name=name,
        adapter="openai",
        base_url=base_url,
        model=REHEARSAL[name],
        api_key_env=None,
        failure_domain=name,
        region="here",
        context_tokens=32_000,
        # It costs nothing: the ceiling is the limit.
        max_in_flight=4_000,
        connect_ms=3_000,
        first_word_ms=8_000,
        idle_ms=10_000,
    )


def load(path: Path) -> Routing:
    """Read a routing file. Raises RoutingFileInvalid, whose text names the file, the key or line, and the mend."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RoutingFileInvalid(
            f"{path}: cannot be read ({type(error).__name__}). Put a UTF-8 file there."
        ) from None
    return parse(text, source=str(path))


def parse(text: str, *, source: str) -> Routing:
    """The same from the file's text; `source` is what messages call it."""
    try:
        document = _Document.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RoutingFileInvalid(f"{source}: {error}. Mend the TOML there.") from None
    except ValidationError as error:
        raise RoutingFileInvalid(_lines(source, (_explain(detail) for detail in error.errors()))) from None
    wrong = list(_misfits(document))
    if wrong:
        raise RoutingFileInvalid(_lines(source, wrong))
    lanes = {name: _lane(name, entry) for name, entry in document.lanes.items()}
    presets = {name: Preset(name=name, **entry.model_dump()) for name, entry in document.presets.items()}
    return _routing(lanes, presets, file_hash=hashlib.sha256(text.encode()).hexdigest()[:16])


def _routing(lanes: dict[str, Lane], presets: dict[str, Preset], *, file_hash: str = "") -> Routing:
    return Routing(lanes=MappingProxyType(lanes), presets=MappingProxyType(presets), file_hash=file_hash)


def _lane(name: str, entry: "_LaneEntry") -> Lane:
    values = entry.model_dump(exclude=set(_PRICES))
    prices = None
    if entry.input_price_per_million is not None and entry.output_price_per_million is not None:
        prices = Prices(
            input_per_million=Decimal(str(entry.input_price_per_million)),
            output_per_million=Decimal(str(entry.output_price_per_million)),
            currency=entry.currency or "",
        )
    return Lane(name=name, prices=prices, **values)


# The file.

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
_Word = Annotated[str, Field(pattern=r"^\S(.{0,198}\S)?$")]
_Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
_Milliseconds = Annotated[int, Field(ge=500, le=120_000)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _LaneEntry(_Part):
    adapter: Literal["openai", "anthropic"]
    base_url: _Word
    model: _Word
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    failure_domain: _Word
    region: _Word
    context_tokens: Annotated[int, Field(ge=1_000, le=10_000_000)]
    max_in_flight: Annotated[int, Field(ge=1, le=10_000)]
    connect_ms: _Milliseconds
    first_word_ms: _Milliseconds
    idle_ms: _Milliseconds
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    marking: Literal["none", "reduced"] = "none"
    thoughts: Literal["marked", "unopened"] = "marked"
    max_tokens: Annotated[int, Field(ge=16, le=100_000)] = MAX_TOKENS
    reply_ms: Annotated[int, Field(ge=500, le=1_800_000)] = REPLY_MS
    usage: Literal["by_itself", "asked"] = "by_itself"
    input_price_per_million: _Price | None = None
    output_price_per_million: _Price | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None

    @field_validator("base_url")
    @classmethod
    def _is_plain_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an address that starts with https:// or http://")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must hold no name, password, query or fragment; a key belongs in api_key_env")
        _ = parts.port  # raises ValueError when it is no port
        return value


_PRICES = ("input_price_per_million", "output_price_per_million", "currency")
"""All of them, or none."""


class _PresetEntry(_Part):
    # TOML has no tuples, and strict reading would insist on one.
    chain: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=LONGEST_CHAIN, strict=False)]
    marking: Literal["none", "reduced"] = "none"
    ceiling: Annotated[int, Field(ge=1, le=10_000)] | None = None


class _Document(_Part):
    lanes: Annotated[dict[_Name, _LaneEntry], Field(min_length=1)]
    presets: Annotated[dict[_Name, _PresetEntry], Field(min_length=1)]


def _misfits(document: _Document) -> Iterator[str]:
    """What is wrong between the parts of a file whose parts are each right."""
    if NORMAL not in document.presets:
        yield f"presets.{NORMAL}: is missing. Add the chain to use until another is selected."
    for name, entry in document.lanes.items():
        if "max_tokens" in entry.model_fields_set and entry.max_tokens * 2 > entry.context_tokens:
            yield f"lanes.{name}.max_tokens: is more than half of context_tokens. Leave room for the question."
        if entry.adapter == "anthropic" and entry.usage == "asked":
            yield f"lanes.{name}.usage: this wire tells it by itself. Remove it."
        priced = [key for key in _PRICES if getattr(entry, key) is not None]
        if priced and len(priced) < len(_PRICES):
            missing = " and ".join(key for key in _PRICES if key not in priced)
            yield f"lanes.{name}.{priced[0]}: says nothing by itself. Add {missing}, or remove it."
    for name, preset in document.presets.items():
        for lane in dict.fromkeys(preset.chain):
            if lane not in document.lanes:
                known = ", ".join(document.lanes)
                yield f"presets.{name}.chain: no lane is called {lane!r}. Register it, or name one of: {known}."
            if preset.chain.count(lane) > 1:
                yield f"presets.{name}.chain: names {lane!r} more than once. Name each lane once."


_PHRASES: Phrases = {
    "too_long": ("has too many entries", f"a chain has 1 to {LONGEST_CHAIN} lanes"),
    "too_short": ("is empty", "name at least one"),
}


def _explain(error: ErrorDetails) -> str:
    refusal = explain_error(error, _PHRASES)
    if refusal.key.endswith(".api_key"):
        refusal = replace(
            refusal,
            fault="does not belong in this file",
            mend="name the environment variable that holds it in api_key_env",
        )
    return str(refusal)


def _lines(source: str, findings: Iterator[str] | list[str]) -> str:
    return "\n".join(f"{source}: {finding}" for finding in findings)
