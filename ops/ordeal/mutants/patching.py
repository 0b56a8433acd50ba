"""Reads the catalogue of mutants and applies one to a copy of the tree. Never to this tree. PURE but for files."""

import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
CATALOGUE = Path(__file__).parent / "catalogue"
LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".venv",
    "var",
    "node_modules",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    "tests",
)


class DoesNotApply(Exception):
    """A change does not fit the tree. The text names the mutant and the file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MutantChange:
    """`old`, which stands exactly once in the file, becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """The product with one promise broken on purpose."""

    name: str
    breaks: str
    changes: Sequence[MutantChange]

    def patched(self, root: Path) -> dict[Path, str]:
        """The text of each changed file, by its path. Raises DoesNotApply."""
        texts: dict[Path, str] = {}
        for change in self.changes:
            path = root / change.file
            text = texts.get(path) or (path.read_text(encoding="utf-8") if path.is_file() else "")
            if text.count(change.old) != 1:
                raise DoesNotApply(
                    f"{self.name}: {change.file} holds the text {text.count(change.old)} times: {change.old!r}"
                )
            texts[path] = text.replace(change.old, change.new)
        return texts


def load_mutants(catalogue: Path = CATALOGUE) -> list[Mutant]:
    """All mutants, by name."""
    return [_load(path) for path in sorted(catalogue.glob("*.toml"))]


def _load(path: Path) -> Mutant:
    document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return Mutant(
        name=path.stem,
        breaks=document["breaks"],
        changes=tuple(
            # Line breaks at the edges only frame a text of several lines in the file.
            MutantChange(file=one["file"], old=_unframe(one["old"]), new=_unframe(one["new"]))
            for one in document["change"]
        ),
    )


def _unframe(text: str) -> str:
    return text.removeprefix("\n")


def copy_tree(target: Path, mutant: Mutant | None) -> None:
    """Copy the product to `target`, which must not exist, and break it there. None: leave it whole."""
    shutil.copytree(ROOT, target, ignore=LEFT_OUT, symlinks=True)
    if mutant is not None:
        for path, text in mutant.patched(target).items():
            path.write_text(text, encoding="utf-8")
