"""Where the files of the safety rules stand that ship."""

from pathlib import Path

_FOLDER = Path(__file__).parent
REAL_WORDS = {"en": _FOLDER / "real_words.txt", "es": _FOLDER / "real_words.es.txt"}
"""Common words of each language, which are never taken for a slip."""
WEIGHTS = {"en": _FOLDER / "en.weights.tsv"}
"""What words weigh, for each language with sentences enough to learn it from."""


def rules_path(language: str) -> Path:
    """Return where the rules of a language stand."""
    return _FOLDER / f"{language}.toml"
