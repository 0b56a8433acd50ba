"""Any text a provider sends is made fit to be stored."""

from hypothesis import given
from hypothesis import strategies as st

from routing.mend import Mender

HALF = st.characters(categories=["Cs"])
ANYTHING = st.lists(st.text(st.one_of(st.characters(), HALF, st.just("\0"))))


def mend(*pieces: str) -> str:
    mender = Mender()
    return "".join([*(mender.mend(piece) for piece in pieces), mender.close()])


@given(ANYTHING)
def test_whatever_comes_out_can_be_stored(pieces: list[str]) -> None:
    mended = mend(*pieces)
    mended.encode("utf-8")
    assert "\0" not in mended


@given(ANYTHING)
def test_it_does_not_matter_where_the_pieces_were_cut(pieces: list[str]) -> None:
    assert mend(*pieces) == mend("".join(pieces)) == mend(*"".join(pieces))


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_sound_text_is_not_changed(pieces: list[str]) -> None:
    assert mend(*pieces) == "".join(pieces)


def test_two_halves_in_two_pieces_become_one_character() -> None:
    assert mend("a\ud83c", "\udf0db") == "a\U0001f30db"


def test_halves_with_an_empty_piece_or_a_nul_between_them_still_meet() -> None:
    assert mend("\ud83c", "", "\0", "\udf0d") == "\U0001f30d"


def test_a_half_that_stays_alone_is_replaced() -> None:
    assert mend("a\ud83cb", "\udf0d", "\ud83c") == "a\ufffdb\ufffd\ufffd"


def test_nothing_is_said_before_it_is_certain() -> None:
    assert Mender().mend("\ud83c") == ""
