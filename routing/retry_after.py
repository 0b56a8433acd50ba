"""PURE. Every form in which a provider says how long to stay away."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
LONGEST_S = 366 * 24 * 3600.0
"""Longer waits are cut to a year: an absurd number must not overflow a date."""


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds to wait, never negative, or None if nothing legible is said.

    `headers` finds names in any case, or has them in lower case. Dates count from the response's own `Date`, since
    its clock and ours may differ; only without one from `now`.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _number(headers.get(name))
        if milliseconds is not None:
            return _bounded(milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return _bounded(seconds)
    until = _date(value)
    if until is None:
        return None
    return _bounded((until - (_date(headers.get("date")) or now)).total_seconds())


def longer_rest(known_until: float | None, proposed_until: float) -> float:
    """A longer rest extends a shorter one, never the reverse."""
    return proposed_until if known_until is None else max(known_until, proposed_until)


def _number(value: str | None) -> float | None:
    """A number written out whole in ASCII digits; `1e9`, `1_000` and `١` are none."""
    value = (value or "").strip()
    if len(value) > 32 or not value.isascii() or not _NUMBER.fullmatch(value):
        return None
    return float(value)


def _date(value: str | None) -> datetime | None:
    """A date in any of the three spellings of HTTP: RFC 1123, RFC 850, asctime."""
    if not value or len(value) > 64:
        return None
    try:
        date = parsedate_to_datetime(value.strip())
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_S)
