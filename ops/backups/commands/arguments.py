"""PURE: what may be typed after an option, read by argparse. Nonsense is refused, never turned into something else."""

from argparse import ArgumentTypeError
from pathlib import Path

MOST_JOBS = 32


def jobs(text: str) -> int:
    """Connections and dump workers: 1 to 32."""
    number = _number(text)
    if not 1 <= number <= MOST_JOBS:
        raise ArgumentTypeError(f"{number} makes no sense; 1 to {MOST_JOBS} do")
    return number


def at_least_none(text: str) -> int:
    """How many: 0 or more."""
    number = _number(text)
    if number < 0:
        raise ArgumentTypeError(f"{number} makes no sense; 0 or more do")
    return number


def at_least_one(text: str) -> int:
    """How many: 1 or more."""
    number = _number(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} makes no sense; 1 or more do")
    return number


def place(text: str) -> Path:
    """A file or a folder. Nothing at all is what a shell makes of a variable that is not set."""
    return Path(stated(text))


def stated(text: str) -> str:
    """Anything that was really typed."""
    if not text.strip():
        raise ArgumentTypeError("it is empty; is a variable not set? Leave the option out for its default")
    return text


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is no whole number") from None
