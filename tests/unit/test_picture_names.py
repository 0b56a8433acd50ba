"""The pictures of a card have names in the language of the page (A6)."""

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override


@pytest.mark.parametrize(("language", "name"), [("en", "Apple"), ("es", "Manzana")])
def test_a_picture_is_named_in_the_language_of_the_page(language: str, name: str) -> None:
    with override(language):
        grid = render_to_string("companion/_picture_grid.html", {"pictures": ["apple"]})
    assert grid.count(f"</svg>{name}</button>") == 1
