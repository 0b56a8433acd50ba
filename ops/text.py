"""PURE. Formats and parses times and durations, and escapes untrusted text."""

import unicodedata
from datetime import UTC, datetime, timedelta

from django.utils.dateformat import format as date_format
from django.utils.translation import gettext, ngettext


def format_time(moment: datetime | None) -> str:
    """A moment to the second, in UTC; a dash for none."""
    if moment is None:
        return "–"
    return f"{date_format(moment.astimezone(UTC), 'd M Y, H:i:s')} UTC"


def format_duration(value: float) -> str:
    """A duration in milliseconds or seconds."""
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def format_length(length_s: int) -> str:
    """A length of time in hours, minutes and seconds, without parts that are zero."""
    minutes, seconds = divmod(length_s, 60)
    hours, minutes = divmod(minutes, 60)
    parts = (
        (hours, gettext("{count} h")),
        (minutes, gettext("{count} min")),
        (seconds, gettext("{count} s")),
    )
    return " ".join(says.format(count=count) for count, says in parts if count) or gettext(
        "{count} s"
    ).format(count=0)


def escape_controls(text: str) -> str:
    """The text with every character that could control a terminal made visible: escapes, returns, overrides."""
    return "".join(f"\\u{ord(letter):04x}" if _is_control(letter) else letter for letter in text)


# Joined emoji and some scripts need the two joiners, which are harmless.
HARMLESS = frozenset("\n\t\u200c\u200d")
# Controls, formats (the bidirectional overrides are among them), line and paragraph separators.
CONTROL_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp"})


def _is_control(letter: str) -> bool:
    return letter not in HARMLESS and unicodedata.category(letter) in CONTROL_CATEGORIES


def format_age(moment: datetime | None, now: datetime) -> str:
    """How long ago, in words. None means that nothing was found in the last day."""
    if moment is None:
        return gettext("not in the last day")
    seconds = max(0, round((now - moment).total_seconds()))
    if seconds < 120:
        return ngettext("{count} second ago", "{count} seconds ago", seconds).format(count=seconds)
    if seconds < 7200:
        return gettext("{count} minutes ago").format(count=seconds // 60)
    if seconds < 172_800:
        return gettext("{count} hours ago").format(count=seconds // 3600)
    return gettext("{count} days ago").format(count=seconds // 86_400)


def parse_length(text: str) -> timedelta:
    """Parse a length of time such as 45m, 4h, 1h30m or 2d. Raises ValueError."""
    seconds, number = 0, ""
    for letter in text.strip().lower():
        if letter.isascii() and letter.isdigit() and len(number) < 6:
            number += letter
        elif letter in SECONDS_OF and number:
            seconds += int(number) * SECONDS_OF[letter]
            number = ""
        else:
            raise ValueError("write it as 45m, 4h, 1h30m or 2d")
    if number or not seconds:
        raise ValueError("write it as 45m, 4h, 1h30m or 2d")
    return timedelta(seconds=seconds)


SECONDS_OF = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
