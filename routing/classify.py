"""PURE. The one classifier: what a provider said, by status or inside a stream, to a class of failure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from routing import error_words as words
from routing.error_facts import ErrorFacts
from routing.errors import FailureClass
from routing.retry_after import retry_after_s

F = FailureClass


@dataclass(frozen=True, kw_only=True, slots=True)
class Classification:
    """What a failure is. `code` is the provider's own short code or ours, never a sentence."""

    failure: FailureClass
    code: str | None = None
    retry_after_s: float | None = None


def classify_response(
    *, status: int, headers: Mapping[str, str], body: bytes, now: datetime
) -> Classification:
    """Classify an answer whose status is not 200. `body` may be cut short; `now` serves dates without a `Date`."""
    if status < 300:
        return Classification(failure=F.INCOMPLETE, code=_status_code(status))
    found = parse_json(body)
    facts = ErrorFacts.of(found, headers=headers)
    verdict = Classification(failure=_class_of(facts, status), code=facts.code or _status_code(status))
    if status < 400:
        return verdict
    wait = retry_after_s(headers, now=now)
    return replace(verdict, retry_after_s=facts.wait_s if wait is None else wait)


def classify_body(body: bytes) -> Classification:
    """Classify a 200 that held no event at all: an error after all, a page, `null`, nothing."""
    found = parse_json(body)
    if is_error(found):
        return classify_object(found)
    if not body.strip():
        return Classification(failure=F.INCOMPLETE, code="empty_body")
    page = body[:200].lstrip().startswith(b"<")
    return Classification(failure=F.INCOMPLETE, code="html" if page else "not_a_stream")


def parse_json(body: bytes | str) -> Any:
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


def classify_object(found: Any, *, status: int | None = None) -> Classification:
    """Classify an error object. `status` is the HTTP status, or None for an object inside a 200 stream."""
    facts = ErrorFacts.of(found)
    if status is None:
        status = facts.status
    return Classification(
        failure=_class_of(facts, status), code=facts.code or _status_code(status) or "no_code"
    )


_ABOUT_THE_REQUEST = (400, 403, 413, 422, 424, 500)
"""Statuses under which a prompt that is too long or not wanted is reported; 500 by some self-hosted servers."""
_TAKEN_BACK = (400, 403, 422)
"""Statuses that speak of the request or the key, and under which passing troubles are reported all the same."""
_Table = tuple[tuple[re.Pattern[str], FailureClass], ...]
_EXACT: _Table = (
    (words.OVERLOADED, F.OVERLOADED),
    (words.THROTTLED, F.RATE_LIMITED),
    (words.KEY_OR_MODEL, F.MISCONFIGURED),
)
_GENERAL: _Table = ((words.SERVER, F.SERVER_ERROR), (words.REQUEST, F.BAD_REQUEST))
_SAID: _Table = (
    (words.KEY_OR_MODEL_SAID, F.MISCONFIGURED),
    (words.THROTTLED_SAID, F.RATE_LIMITED),
    (words.BUSY_SAID, F.OVERLOADED),
    (words.BROKEN_SAID, F.SERVER_ERROR),
)


def _class_of(facts: ErrorFacts, status: int | None) -> FailureClass:
    """The exact words of the body first, then its sentences, then the status, then the body's general words."""
    if status is not None and status < 400:
        return _by_status(status) or F.UNKNOWN
    if status == 402 or _is_quota(facts):
        return F.QUOTA
    exact = _of_the_request(facts, status) or _first(_EXACT, facts.codes)
    if exact is not None:
        return exact
    if said := _said(facts, status):
        return said
    general = _by_status(status) or _first(_GENERAL, facts.codes)
    if general is None and status is None and not facts.codes:
        # An error in a stream that gives no reason but a sentence: the server broke, as far as anyone can tell.
        return F.SERVER_ERROR
    return general or F.UNKNOWN


def _is_quota(facts: ErrorFacts) -> bool:
    codes = " ".join(facts.codes)
    if any(words.QUOTA.search(code) for code in facts.codes):
        return True
    # Google says "exceeded your current quota" of every minute; there, only the name of the quota tells.
    return "resource_exhausted" not in codes and bool(words.QUOTA_SAID.search(facts.message))


def _of_the_request(facts: ErrorFacts, status: int | None) -> FailureClass | None:
    """Too long, or not wanted, by a code."""
    if status == 429 and words.TOO_LARGE_FOR_ANY_MINUTE.search(facts.message):
        return F.TOO_LONG
    if status is None or status in _ABOUT_THE_REQUEST:
        codes = " ".join(facts.codes)
        if status == 413 or words.TOO_LONG.search(codes):
            return F.TOO_LONG
        if facts.moderated or words.REFUSED.search(codes):
            return F.REFUSED
    return None


def _said(facts: ErrorFacts, status: int | None) -> FailureClass | None:
    """By a sentence: the least exact, but for some servers it is all there is."""
    if status is None or status in _ABOUT_THE_REQUEST:
        if words.TOO_LONG_SAID.search(facts.message):
            return F.TOO_LONG
        if status not in (424, 500) and words.REFUSED_SAID.search(facts.message):
            return F.REFUSED
    if status is None or status in _TAKEN_BACK:
        if failure := _first(_SAID, (facts.message,)):
            return failure
        if facts.is_paced:
            return F.RATE_LIMITED
    return None


def _first(table: _Table, texts: tuple[str, ...]) -> FailureClass | None:
    return next((failure for text in texts for pattern, failure in table if pattern.search(text)), None)


def _by_status(status: int | None) -> FailureClass | None:
    match status:
        case None:
            return None
        case 408 | 409 | 421 | 423 | 424 | 425 | 499:
            # 424: what stands behind the gateway failed. 499: the gateway gave up on it.
            return F.SERVER_ERROR
        case 420 | 429:
            return F.RATE_LIMITED
        case 498 | 529:
            # 498 is Groq's word for a full service.
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
