"""PURE. The telling parts of an error from any server: codes, sentence, status, and what its headers say."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

_NO_WORD = frozenset({"", "error", "none", "null", "unknown"})
"""What stands where a code would, and says nothing."""
_ERROR_HEADERS = ("x-amzn-errortype", "x-amzn-error-type", "x-ms-error-code", "x-error-code", "x-error-type")
_NOTHING_REMAINS = ("x-ratelimit-remaining", "x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens")
_MESSAGE_LIMIT = 4_000
_NUMBER = re.compile(r"[3-5]\d\d")
_DELAY = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorFacts:
    """The telling parts of an error object of any make, and of the headers it came with."""

    codes: tuple[str, ...]
    """Code, type and status words, in lower case, the most exact first."""
    message: str
    status: int | None
    code: str | None
    moderated: bool
    is_paced: bool
    """The headers name a time to come back at, or say that nothing is left of this one."""
    wait_s: float | None

    @classmethod
    def of(cls, found: Any, *, headers: Mapping[str, str] | None = None) -> "ErrorFacts":
        if isinstance(found, list) and found:
            found = found[0]
        outer = found if isinstance(found, dict) else {}
        inner = outer.get("error")
        error = inner if isinstance(inner, dict) else outer
        details = list(_details(error))
        named = [*_named_in(details), *_named(error), *_named_outside(outer, headers or {})]
        numbers = [error.get(key) for key in ("code", "status", "status_code")]
        code = next((c for c in (short_code(name) for name in named) if c), None)
        metadata = error.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        said = (
            inner
            if isinstance(inner, str)
            else error.get("message") or outer.get("message") or outer.get("detail")
        )
        return cls(
            codes=tuple(name.lower() for name in named if not _NUMBER.fullmatch(name)),
            message=_flat((said, metadata.get("raw")))[:_MESSAGE_LIMIT].lower(),
            status=next((n for n in map(_status_in, numbers) if n), None),
            code=code,
            moderated=bool(metadata.get("reasons")),
            is_paced=_is_paced(headers or {}),
            wait_s=_wait_in(details),
        )


def _named(error: dict[str, Any]) -> Iterator[str]:
    candidates = [error.get(key) for key in ("code", "type", "status", "error_type", "__type")]
    details = error.get("innererror")
    if isinstance(details, dict):
        candidates.append(details.get("code"))
    return _legible(candidates)


def _named_outside(outer: dict[str, Any], headers: Mapping[str, str]) -> Iterator[str]:
    """Beside the error's object, and in headers, where an address may stand behind the name."""
    yield from _legible(outer.get(key) for key in ("error_type", "__type"))
    yield from _legible((headers.get(name) or "").partition(":")[0].strip() for name in _ERROR_HEADERS)


def _named_in(details: list[dict[str, Any]]) -> Iterator[str]:
    """Google's reasons, and which of its quotas was passed."""
    for detail in details:
        violations = detail.get("violations")
        violations = violations[:20] if isinstance(violations, list) else []
        quotas = [one.get("quotaId") for one in violations if isinstance(one, dict)]
        yield from _legible((detail.get("reason"), *quotas))


def _legible(candidates: Iterable[Any]) -> Iterator[str]:
    for value in candidates:
        if isinstance(value, str) and value.strip().lower() not in _NO_WORD:
            # AWS puts a namespace before the name.
            yield value.strip()[:200].rpartition("#")[2]


def _details(error: dict[str, Any]) -> Iterator[dict[str, Any]]:
    details = error.get("details")
    for detail in details[:20] if isinstance(details, list) else ():
        if isinstance(detail, dict):
            yield detail


def _wait_in(details: list[dict[str, Any]]) -> float | None:
    for detail in details:
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and (number := _DELAY.fullmatch(delay.strip())):
            return float(number[1])
    return None


def _status_in(value: Any) -> int | None:
    """A status among the codes; gateways write it as text."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return int(value)
    return value if type(value) is int and 300 <= value <= 599 else None


def _is_paced(headers: Mapping[str, str]) -> bool:
    return "retry-after" in headers or any(headers.get(name) == "0" for name in _NOTHING_REMAINS)


def _flat(value: Any, depth: int = 4) -> str:
    """The text in a message, which some gateways make an object or a list."""
    if isinstance(value, str):
        return value[:_MESSAGE_LIMIT]
    if depth and isinstance(value, dict | list | tuple):
        parts = value.values() if isinstance(value, dict) else value
        return " ".join(filter(None, (_flat(part, depth - 1) for part in islice(parts, 20))))
    return ""


def short_code(value: Any) -> str | None:
    """The value if it is a code fit for a record: letters, digits, `_`, `.`, `-`, at most 64."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and abs(value) >= 10**9:
        return None
    text = str(value)
    return text if _CODE.fullmatch(text) else None


_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
