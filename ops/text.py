"""PURE. Text that several rooms write: times, durations, and words that come from outside."""

import unicodedata
from datetime import UTC, datetime, timedelta


def format_time(moment: datetime | None) -> str:
    """A moment to the second, in UTC; a dash for none."""
    return "–" if moment is None else f"{moment.astimezone(UTC):%d %b %Y, %H:%M:%S} UTC"


def format_duration(value: float) -> str:
    """A duration as people read it."""
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def format_length(length_s: int) -> str:
    """A length of time in hours, minutes and seconds, without those that are nought."""
    minutes, left = divmod(length_s, 60)
    parts = zip((*divmod(minutes, 60), left), ("h", "min", "s"), strict=True)
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"


def escape_controls(words: str) -> str:
    """Text with every character that could steer a terminal made visible: escapes, carriage returns, overrides."""
    return "".join(f"\\u{ord(letter):04x}" if _steers(letter) else letter for letter in words)


# Joined emoji and some scripts are written with these two, and they steer nothing.
HARMLESS = frozenset("\n\t\u200c\u200d")
# Controls, formats (the bidirectional overrides are among them), line and paragraph separators.
STEERING = frozenset({"Cc", "Cf", "Zl", "Zp"})


def _steers(letter: str) -> bool:
    return letter not in HARMLESS and unicodedata.category(letter) in STEERING


def format_age(moment: datetime | None, now: datetime) -> str:
    """How long ago something was that is looked for in the last day alone, in words."""
    if moment is None:
        return "not in the last day"
    seconds = max(0, round((now - moment).total_seconds()))
    if seconds < 120:
        return "1 second ago" if seconds == 1 else f"{seconds} seconds ago"
    if seconds < 7200:
        return f"{seconds // 60} minutes ago"
    return f"{seconds // 3600} hours ago" if seconds < 172_800 else f"{seconds // 86_400} days ago"


def parse_length(text_of: str) -> timedelta:
    """A length of time as people write it: 45m, 4h, 1h30m, 2d. Raises ValueError."""
    seconds, number = 0, ""
    for letter in text_of.strip().lower():
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
