"""`python -m personas.safety.regenerate_spanish_words FILE`: writes `real_words.es.txt` anew.

FILE is `spellchecker/resources/es.json.gz` of the package `pyspellchecker` 0.9.1 (MIT): Spanish words, each with
how often it was counted.
"""

import gzip
import json
import sys
import unicodedata
from collections import Counter
from pathlib import Path

REAL_WORDS = Path(__file__).parent / "real_words.es.txt"
MOST_COMMON = 14_000
MAX_LETTERS = 16


def collect(path: Path) -> list[str]:
    """Return the most common words, without accents as messages are read, sorted. Raises OSError, ValueError."""
    counts: Counter[str] = Counter()
    for word, count in json.loads(gzip.decompress(path.read_bytes())).items():
        plain = "".join(
            letter
            for letter in unicodedata.normalize("NFKD", word.lower())
            if not unicodedata.combining(letter)
        )
        if plain.isascii() and plain.isalpha() and 1 < len(plain) <= MAX_LETTERS:
            counts[plain] += count
    return sorted(word for word, _ in counts.most_common(MOST_COMMON))


if __name__ == "__main__":
    REAL_WORDS.write_text("\n".join(collect(Path(sys.argv[1]))) + "\n", encoding="utf-8")
