"""The number in a safety line: the site's own, and never an empty place (S8)."""

import pytest

from companion.supervision.helplines import Helpline
from personas.load import DEFAULT, load

LINES = load(DEFAULT).lines
BOTH = Helpline(voice="116 123", text="HOME to 85258")


def test_a_safety_line_names_both_numbers_of_the_site() -> None:
    line = BOTH.write_safety_line(LINES, is_told=True)

    assert line == LINES.safety_told.replace("{helpline}", "116 123 or text HOME to 85258")
    assert BOTH.write_safety_line(LINES, is_told=False) != line


def test_a_site_with_a_number_to_call_alone_names_that_one() -> None:
    line = Helpline(voice="116 123").write_safety_line(LINES, is_told=False)

    assert "or call 116 123. You can keep writing here." in line


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize(
    "helpline", [Helpline(), Helpline(text="85258"), Helpline(voice="1{helpline}", text="{")]
)
def test_no_line_has_an_empty_place(helpline: Helpline, is_told: bool) -> None:
    for line in (
        helpline.write_safety_line(LINES, is_told=is_told),
        helpline.write_help_answer(LINES, is_told=is_told).line,
    ):
        assert "call  " not in line and "call ." not in line
        assert line.endswith("You can keep writing here.")
        if not helpline.voice:
            assert "{" not in line and "call" not in line


def test_a_site_without_a_number_gets_the_line_that_needs_none() -> None:
    assert Helpline().write_safety_line(LINES, is_told=True) == LINES.safety_no_number
    assert Helpline().write_help_answer(LINES, is_told=False).line == LINES.help_no_number
    assert Helpline().write_help_answer(LINES, is_told=True).line == LINES.help_told


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("helpline", [Helpline(), BOTH])
def test_an_answer_for_a_page_without_a_box_offers_no_writing(helpline: Helpline, is_told: bool) -> None:
    for lines in (LINES, load(DEFAULT.with_name("robin.es.toml")).lines):
        answer = helpline.write_help_answer(lines, is_told=is_told)

        assert answer.outside and answer.line.startswith(answer.outside)
        assert not answer.outside.endswith(("writing here.", "escribiendo aquí."))
        assert ("116 123" in answer.outside) == (bool(helpline.voice) and not is_told)
