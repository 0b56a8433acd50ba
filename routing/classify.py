"""PURE. The one classifier: what a provider said, by status or inside a stream, to a class of failure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from routing.errors import FailureClass
from routing.retry_after import retry_after_s

F = FailureClass


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a failure is. `code` is the provider's own short code or ours, never a sentence."""

    failure: FailureClass
    code: str | None = None
    retry_after_s: float | None = None


def from_response(*, status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> Verdict:
    """Classify an answer whose status is not 200. `body` may be cut short; `now` serves dates without a `Date`."""
    if status < 300:
        return Verdict(failure=F.INCOMPLETE, code=_status_code(status))
    verdict = from_object(parsed(body), status=status)
    if status < 400:
        return verdict
    wait = retry_after_s(headers, now=now)
    return Verdict(failure=verdict.failure, code=verdict.code, retry_after_s=wait)


def from_body(body: bytes) -> Verdict:
    """Classify a 200 that held no event at all: an error after all, a page, `null`, nothing."""
    found = parsed(body)
    if is_error(found):
        return from_object(found)
    if not body.strip():
        return Verdict(failure=F.INCOMPLETE, code="empty_body")
    page = body[:200].lstrip().startswith(b"<")
    return Verdict(failure=F.INCOMPLETE, code="html" if page else "not_a_stream")


def parsed(body: bytes | str) -> Any:
    """The JSON in a body; None if there is none, for neither says anything. Never raises."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def is_error(found: Any) -> bool:
    """Whether an object in a stream, or the body of a 200, is an error."""
    if isinstance(found, list):
        return len(found) == 1 and isinstance(found[0], dict) and is_error(found[0])
    if not isinstance(found, dict):
        return False
    return bool(found.get("error")) or found.get("object") == "error" or found.get("type") == "error"


def from_object(found: Any, *, status: int | None = None) -> Verdict:
    """Classify an error object. `status` is the HTTP status, or None for an object inside a 200 stream."""
    words = _Words.of(found)
    if status is None:
        status = words.status
    return Verdict(failure=_class_of(words, status), code=words.code or _status_code(status) or "no_code")


def short_code(value: Any) -> str | None:
    """The value if it is a code fit for a record: letters, digits, `_`, `.`, `-`, at most 64."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and abs(value) >= 10**9:
        return None
    text = str(value)
    return text if _CODE.fullmatch(text) else None


_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Words:
    """The telling parts of an error object of any make."""

    codes: tuple[str, ...]
    """Code, type and status words, in lower case, the most exact first."""
    message: str
    status: int | None
    code: str | None
    moderated: bool

    @classmethod
    def of(cls, found: Any) -> "_Words":
        if isinstance(found, list) and found:
            found = found[0]
        outer = found if isinstance(found, dict) else {}
        inner = outer.get("error")
        error = inner if isinstance(inner, dict) else outer
        named = list(_named(error))
        numbers = [error.get(key) for key in ("code", "status", "status_code")]
        status = next((n for n in numbers if type(n) is int and 300 <= n <= 599), None)
        code = next((c for c in (short_code(name) for name in named) if c), None)
        message = inner if isinstance(inner, str) else error.get("message") or outer.get("detail")
        metadata = error.get("metadata")
        return cls(
            codes=tuple(name.lower() for name in named),
            message=message[:4000].lower() if isinstance(message, str) else "",
            status=status,
            code=code,
            moderated=isinstance(metadata, dict) and bool(metadata.get("reasons")),
        )


def _named(error: dict[str, Any]) -> Iterator[str]:
    candidates = [error.get(key) for key in ("code", "type", "status")]
    details = error.get("innererror")
    if isinstance(details, dict):
        candidates.append(details.get("code"))
    for value in candidates:
        if isinstance(value, str) and value and value != "error":
            yield value[:200]


_QUOTA = re.compile(
    r"insufficient_quota|credit_balance_exhausted|spend_limit|billing|insufficient_(balance|credits|funds)"
    r"|payment_required|credit_exhausted"
)
_QUOTA_SAID = re.compile(r"credit balance is too low")
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|request_too_large|string_above_max_length|context_window"
)
_TOO_LONG_SAID = re.compile(
    r"maximum context length|prompt is too long|context window|context size|exceeds? (the )?context"
    r"|context limit|context length|input is too long|input length|too many (input )?tokens"
    r"|reduce the length of the (messages|prompt)|longer than the maximum model length"
)
_REFUSED = re.compile(
    r"content_filter|content_policy|content_management|responsibleaipolicy|moderation|refusal|safety|policy_violation"
)
_REFUSED_SAID = re.compile(
    r"content management policy|usage polic|content polic|safety system|flagged|moderation|violat\w+ .*polic"
)
_ABOUT_THE_REQUEST = (400, 403, 413, 422, 500)
"""Statuses under which a prompt that is too long or not wanted is reported; 500 by some self-hosted servers."""
_EXACT: tuple[tuple[re.Pattern[str], FailureClass], ...] = tuple(
    (re.compile(pattern), failure)
    for pattern, failure in (
        (r"overloaded|slow_down|^unavailable$", F.OVERLOADED),
        (r"^rate_?limit|too_many_requests|resource_exhausted|throttl", F.RATE_LIMITED),
        (
            r"^authentication|^permission|^not_found|^invalid_api_key|^model_not_found|^unauthenticated",
            F.MISCONFIGURED,
        ),
        (r"^invalid_authentication|^notfounderror|^deploymentnotfound|^account_deactivated", F.MISCONFIGURED),
    )
)
_GENERAL: tuple[tuple[re.Pattern[str], FailureClass], ...] = tuple(
    (re.compile(pattern), failure)
    for pattern, failure in (
        (
            r"server_?error|api_error|timeout|^internal|unavailable|deadline_exceeded|^aborted$",
            F.SERVER_ERROR,
        ),
        (r"invalid_request|bad_?request|invalid_argument|unprocessable|validation", F.BAD_REQUEST),
    )
)


def _class_of(words: _Words, status: int | None) -> FailureClass:
    """The exact words of the body first, then the status, then the body's general words."""
    codes = " ".join(words.codes)
    if status == 402 or _QUOTA.search(codes) or _QUOTA_SAID.search(words.message):
        return F.QUOTA
    if status is None or status in _ABOUT_THE_REQUEST:
        if status == 413 or _TOO_LONG.search(codes):
            return F.TOO_LONG
        if words.moderated or _REFUSED.search(codes):
            return F.REFUSED
    exact = _first(_EXACT, words.codes)
    if exact is not None and (status is None or status >= 400):
        return exact
    if status is None or status in _ABOUT_THE_REQUEST:
        # Sentences last: they are the least exact, but for some servers they are all there is.
        if _TOO_LONG_SAID.search(words.message):
            return F.TOO_LONG
        if status != 500 and _REFUSED_SAID.search(words.message):
            return F.REFUSED
    general = _by_status(status) or _first(_GENERAL, words.codes)
    if general is None and status is None and not words.codes:
        # An error in a stream that gives no reason but a sentence: the server broke, as far as anyone can tell.
        return F.SERVER_ERROR
    return general or F.UNKNOWN


def _first(
    table: tuple[tuple[re.Pattern[str], FailureClass], ...], codes: tuple[str, ...]
) -> FailureClass | None:
    return next((failure for code in codes for pattern, failure in table if pattern.search(code)), None)


def _by_status(status: int | None) -> FailureClass | None:
    match status:
        case None:
            return None
        case 408 | 409 | 425:
            return F.SERVER_ERROR
        case 429:
            return F.RATE_LIMITED
        case 529:
            return F.OVERLOADED
        case 400 | 422:
            return F.BAD_REQUEST
        case _ if 300 <= status < 500:
            # Moved, not allowed, not there, not spoken here: the lane's settings are wrong.
            return F.MISCONFIGURED
        case _ if 500 <= status < 600:
            return F.SERVER_ERROR
    return None


def _status_code(status: int | None) -> str | None:
    return None if status is None else f"http_{status}"
