"""What the rehearsal companion says obeys the wording rules of the character it stands in for (P4)."""

import pytest

from personas.wording import lint_line
from routing.rehearsal.script import SENTENCES


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_obeys_the_wording_rules(sentence: str) -> None:
    assert lint_line("greeting", sentence) == []
