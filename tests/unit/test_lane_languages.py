"""Which language a reply is in, told by its little words."""

import pytest

from ops.lane_checks.languages import detect_language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is good that you told me. We can look at it together.", "en"),
        ("Es ist gut, dass du mir das sagst. Wir können es zusammen ansehen, wenn du magst.", "de"),
        ("C'est bien que vous me le disiez. Nous pouvons y réfléchir dans le calme, si vous voulez.", "fr"),
        ("Es bueno que me lo digas. Lo podemos mirar con calma y sin prisa, si te parece.", "es"),
        (
            "To dobrze, że o tym mówisz. Możemy się nad tym zastanowić, co ty na to? Nie ma w tym pośpiechu.",
            "pl",
        ),
        ("Yes.", "?"),
        ("", "?"),
        ("Lorem ipsum dolor sit amet consectetur adipiscing elit sed eiusmod", "?"),
    ],
)
def test_a_language_is_known_by_its_little_words_or_not_at_all(text: str, expected: str) -> None:
    assert detect_language(text) == expected
