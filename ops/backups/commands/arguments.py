"""PURE: parsers of option values, for argparse. Each raises ArgumentTypeError."""

from argparse import ArgumentTypeError
from pathlib import Path

MAX_JOBS = 32


def parse_jobs(text: str) -> int:
    """Parse a number of connections and dump workers, 1 to 32."""
    number = _parse_integer(text)
    if not 1 <= number <= MAX_JOBS:
        raise ArgumentTypeError(f"must be 1 to {MAX_JOBS}, not {number}")
    return number


def parse_zero_or_more(text: str) -> int:
    number = _parse_integer(text)
    if number < 0:
        raise ArgumentTypeError(f"must be 0 or more, not {number}")
    return number


def parse_one_or_more(text: str) -> int:
    number = _parse_integer(text)
    if number < 1:
        raise ArgumentTypeError(f"must be 1 or more, not {number}")
    return number


def parse_path(text: str) -> Path:
    """Parse a path. Path("") would be the current folder, so an empty text is refused."""
    return Path(parse_text(text))


def parse_text(text: str) -> str:
    """Parse a text that is not empty: a shell passes an empty text for a variable that is not set."""
    if not text.strip():
        raise ArgumentTypeError(
            "must not be empty (is a variable not set?); leave the option out for its default"
        )
    return text


def _parse_integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"must be a whole number, not {text}") from None
