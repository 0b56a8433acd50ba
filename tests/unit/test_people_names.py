"""What people, sites and staff may be called."""

import pytest

from ops import names
from ops.changes import ChangeRefused


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("Rosa", "Rosa"),
        ("  Ana   Maria\tLopez ", "Ana Maria Lopez"),
        ("Zoe\u0308", "Zoë"),
        ("শ্রী\u200dম", "শ্রী\u200dম"),
        ("Rosa ❤\ufe0f", "Rosa ❤\ufe0f"),
        ("<b>Rosa</b>; DROP", "<b>Rosa</b>; DROP"),
        ("x" * 100, "x" * 100),
    ],
)
def test_a_name_is_stored_composed_and_with_single_spaces(typed: str, stored: str) -> None:
    assert names.clean_name(typed) == stored


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "empty"),
        (" \t\n", "empty"),
        ("x" * 101, "can have 100 characters; this has 101"),
        ("Ros\udce1", "not UTF-8"),
        ("Ro\x00sa", "cannot be shown"),
        ("Ro\nsa", "one line"),
        ("Ro\r\nsa", "one line"),
        ("Ro\u2028sa", "one line"),
        ("Ro\x85sa", "one line"),
        ("Ro\x1b[2Jsa", "cannot be shown"),
        ("Ro\u202esa", "cannot be shown"),
        ("Ro\ue000sa", "cannot be shown"),
        ("Ro\u061csa", "cannot be shown"),
        ("\u200d", "cannot be shown"),
        ("\u3164", "cannot be shown"),
        ("Rosa\u200b", "cannot be shown"),
        ("Rosa\u3164", "cannot be shown"),
        ("Rosa\u00ad", "cannot be shown"),
    ],
)
def test_what_cannot_be_a_name_is_refused_in_a_sentence_that_can_be_printed(typed: str, why: str) -> None:
    for read in (names.clean_name, names.clean_by):
        with pytest.raises(ChangeRefused, match=why) as refusal:
            read(typed)
        str(refusal.value).encode()


def test_a_change_that_names_no_decider_is_refused() -> None:
    with pytest.raises(ChangeRefused, match="--by"):
        names.clean_by(None)


@pytest.mark.parametrize(
    "typed", ["", "Willow", "willow house", "-willow", "willow--house", "a" * 51, "wéllow", "a\n"]
)
def test_the_short_name_of_a_site_can_be_typed_anywhere(typed: str) -> None:
    assert names.clean_slug("willow-house-2") == "willow-house-2"
    with pytest.raises(ChangeRefused, match="small letters"):
        names.clean_slug(typed)


@pytest.mark.parametrize("typed", ["", "Sam", "sam smith", ".sam", "a" * 101, "säm", "sam\udce1", "sam\n"])
def test_what_staff_sign_in_with_can_be_typed_anywhere(typed: str) -> None:
    assert names.clean_username("sam.smith+night@willow") == "sam.smith+night@willow"
    with pytest.raises(ChangeRefused, match="small letters"):
        names.clean_username(typed)


def test_a_region_in_which_no_lane_lies_is_refused_and_the_others_are_named() -> None:
    assert names.clean_regions(["uk", "eu", "uk"], known={"eu", "uk", "us"}) == ["eu", "uk"]
    assert names.clean_regions([], known={"eu"}) == []
    with pytest.raises(ChangeRefused, match=r"'ku'.*Lanes lie in: eu, uk"):
        names.clean_regions(["ku"], known={"uk", "eu"})
