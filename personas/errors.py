"""Errors of the files of this room.

PersonaInvalid        the file cannot be used; its text names the file, every key and the mend
└── SafetyInvalid     the same for a file of safety rules
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One fault of a persona file. `key` is empty for a fault of the whole file."""

    key: str
    fault: str
    mend: str

    def __str__(self) -> str:
        where = f"{self.key}: " if self.key else ""
        return f"{where}{self.fault}. To mend it: {self.mend}."


class PersonaInvalid(Exception):
    """The persona file cannot be used, so the service does not start. The text is for the editor of the file."""

    def __init__(self, path: Path, problems: tuple[Problem, ...]) -> None:
        self.path = path
        self.problems = problems
        super().__init__("\n".join(f"{path}: {problem}" for problem in problems))


class SafetyInvalid(PersonaInvalid):
    """The safety rules cannot be used, so the service does not start. The text is for the editor of the file."""
