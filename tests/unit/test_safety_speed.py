"""No text makes the rules slow: every kind of text costs in proportion to its length."""

import time
from collections.abc import Callable

import pytest

from personas.safety import SafetyRules, load

LENGTH = 4000
ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "one letter": lambda length: "a" * length,
    "spaced letters": lambda length: "a " * (length // 2),
    "signs": lambda length: "!*$@|'" * (length // 6),
    "newlines": lambda length: "\n \n" * (length // 3),
    "one long word": lambda length: "killmyselfx" * (length // 11),
    "stretched": lambda length: "kiiiiiiill " * (length // 11),
    "slips": lambda length: "kilk mysekf tonigjt tabkets " * (length // 28),
    "signals": lambda length: "i want to kill myself " * (length // 22),
    "negated signals": lambda length: "i do not want to kill myself and " * (length // 33),
    "idioms": lambda length: "dying for a cup of tea and " * (length // 27),
    "half patterns": lambda length: "he is going to my carer took all the " * (length // 37),
    "quotes": lambda length: '" he says "' * (length // 11),
    "digits": lambda length: "1234567890 " * (length // 11),
    "combining": lambda length: "k\u0301i\u0301l\u0301l\u0301 " * (length // 9),
}


@pytest.fixture(scope="module")
def rules() -> SafetyRules:
    return load()


def best_of(read: Callable[[str], object], text: str, times: int = 5) -> float:
    """The least CPU time of several, in seconds: other programs run on this machine."""
    taken = []
    for _ in range(times):
        began = time.thread_time()
        read(text)
        taken.append(time.thread_time() - began)
    return min(taken)


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_a_text_that_is_eight_times_as_long_takes_far_less_than_sixty_four_times_as_long(
    rules: SafetyRules, kind: str
) -> None:
    make = ADVERSARIAL[kind]
    short, long = best_of(rules.read_message, make(LENGTH)), best_of(rules.read_message, make(8 * LENGTH))

    assert long < 20 * short + 0.01


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_no_text_breaks_a_rule(rules: SafetyRules, kind: str) -> None:
    assert not rules.read_message(ADVERSARIAL[kind](LENGTH)).broken
