"""How a persona file can be refused.

PersonaInvalid        the file cannot be used; its text names the file, every key and the mend
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing wrong with a persona file. `key` is empty when the file as a whole is meant."""

    key: str
    fault: str
    mend: str

    def __str__(self) -> str:
        where = f"{self.key}: " if self.key else ""
        return f"{where}{self.fault}. To mend it: {self.mend}."


class PersonaInvalid(Exception):
    """The persona file cannot be used, so nothing starts. The text is for the person who mends the file."""

    def __init__(self, path: Path, problems: tuple[Problem, ...]) -> None:
        self.path = path
        self.problems = problems
        super().__init__("\n".join(f"{path}: {problem}" for problem in problems))
