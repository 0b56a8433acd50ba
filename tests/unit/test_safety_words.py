"""The list of English words can be written anew from its source."""

import json
from pathlib import Path

from personas.safety.regenerate_words import COMMON, DIALECTS, REAL_WORDS, collect


def test_the_list_has_the_common_words_in_small_letters_in_order(tmp_path: Path) -> None:
    for dialect in DIALECTS:
        for level in COMMON:
            words = ["tea", "I", "it's", "Leeds", "café", f"{dialect}", "about"]
            (tmp_path / f"{dialect}-words-{level}.json").write_text(json.dumps(words), encoding="utf-8")

    assert collect(tmp_path) == ["about", "american", "british", "english", "tea"]


def test_the_list_that_ships_is_in_order_and_has_its_licence_beside_it() -> None:
    words = REAL_WORDS.read_text(encoding="utf-8").split()

    assert words == sorted(set(words)) and len(words) > 5000
    assert "Permission to use, copy, modify" in (REAL_WORDS.parent / "real_words.licence.txt").read_text()
