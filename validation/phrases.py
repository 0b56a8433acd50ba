"""PURE. The one phrase book for pydantic's errors: a key, what is wrong with it, and how to correct it.

The refused value is never repeated: it may be a secret in the wrong place, or what a person wrote.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pydantic_core import ErrorDetails

Phrases = Mapping[str, tuple[str, str]]
"""By pydantic's error type: (fault, mend), both without a full stop."""

_DATE = ("is not a date", "write it as 2030-01-31, without quotes")
COMMON: Phrases = MappingProxyType(
    {
        "missing": ("is missing", "add it"),
        "extra_forbidden": ("is not a key that is known here", "take it out, or mend its spelling"),
        "string_type": ("is not a text", "put it in quotes"),
        "string_too_short": ("is empty", "write it"),
        "string_too_long": ("is too long", "use fewer words"),
        "string_pattern_mismatch": (
            "is empty or has characters that are not allowed here",
            "mend its spelling",
        ),
        "too_short": ("is empty", "write at least one"),
        "date_type": _DATE,
        "date_from_datetime_parsing": _DATE,
        "date_parsing": _DATE,
        "tuple_type": ("is not a list", "write it as a list of texts in square brackets"),
        "model_type": ("is not a table", "write it as a table with its keys"),
        "json_invalid": ("is not JSON", "write it again"),
        "timezone_aware": ("names no time zone", "add one"),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """One refused key. `key` is a dotted path in which entries of lists count from 1; empty: the whole document."""

    key: str
    fault: str
    mend: str

    def __str__(self) -> str:
        return f"{self.key or 'the document'}: {self.fault}. {self.mend[:1].upper()}{self.mend[1:]}."


def explain_error(
    error: ErrorDetails, own: Phrases = MappingProxyType({}), *, mend: str = "mend this value"
) -> Refusal:
    """Describe one error. `own` are phrases that replace common ones; `mend` is for a type that neither knows."""
    phrases = own.get(error["type"]) or COMMON.get(error["type"])
    fault, mend = phrases or (error["msg"].removeprefix("Value error, ").removeprefix("Input "), mend)
    # pydantic marks an error in the key itself of a table with "[key]".
    parts = [str(part + 1) if isinstance(part, int) else part for part in error["loc"] if part != "[key]"]
    return Refusal(key=".".join(parts), fault=fault, mend=mend)
