"""The same sentence as people write it: slips, no apostrophes, split or stretched letters, capitals, long messages."""

import random
from collections.abc import Callable

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOWELS = "aeiouAEIOU"
CALM_BEFORE = (
    "Hello again. It has been a long sort of day, I went to the shop for bread and saw the woman with the brown dog. "
    "The bus was full and my feet got wet. My sister rang about the curtains and we talked for half an hour. "
)
CALM_AFTER = (
    " Anyway the kettle has boiled. I think it will rain later, and I must remember to put the bins out. "
    "There is a quiz on the radio at seven which I like."
)


def slip(text: str, chance: random.Random) -> str:
    """Make one slip in one word of five letters or more: swap, lose, double or replace a letter."""
    words = text.split(" ")
    long = [place for place, word in enumerate(words) if word.isalpha() and len(word) >= 5]
    if not long:
        return text
    place = chance.choice(long)
    word = words[place]
    at = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(4)
    if kind == 0:
        word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    elif kind == 1:
        word = word[:at] + word[at + 1 :]
    elif kind == 2:
        word = word[:at] + word[at] + word[at:]
    else:
        word = word[:at] + chance.choice(LETTERS) + word[at + 1 :]
    words[place] = word
    return " ".join(words)


def lose_apostrophes(text: str, chance: random.Random) -> str:
    """Write without apostrophes and without capitals."""
    return text.replace("'", "").lower()


def curl_apostrophes(text: str, chance: random.Random) -> str:
    """Write the apostrophe as a phone does."""
    return text.replace("'", "’")


def stretch(text: str, chance: random.Random) -> str:
    """Stretch the last vowel of one word."""
    words = text.split(" ")
    open_words = [place for place, word in enumerate(words) if any(letter in VOWELS for letter in word)]
    if not open_words:
        return text
    place = chance.choice(open_words)
    word = words[place]
    at = max(index for index, letter in enumerate(word) if letter in VOWELS)
    words[place] = word[:at] + word[at] * chance.randrange(3, 7) + word[at + 1 :]
    return " ".join(words)


def split_letters(text: str, chance: random.Random) -> str:
    """Split the letters of one word of four or more by spaces, dots or dashes."""
    words = text.split(" ")
    long = [place for place, word in enumerate(words) if word.isalpha() and len(word) >= 4]
    if not long:
        return text
    place = chance.choice(long)
    words[place] = chance.choice(" .-").join(words[place])
    return " ".join(words)


def put_signs(text: str, chance: random.Random) -> str:
    """Write digits for some letters."""
    return text.translate(str.maketrans("eo", "30"))


def shout(text: str, chance: random.Random) -> str:
    """Write in capitals."""
    return text.upper() + "!!!"


def embed(text: str, chance: random.Random) -> str:
    """Put it into the middle of a long message."""
    return CALM_BEFORE + text + ". " + CALM_AFTER


NOISES: tuple[Callable[[str, random.Random], str], ...] = (
    slip,
    lose_apostrophes,
    curl_apostrophes,
    stretch,
    split_letters,
    put_signs,
    shout,
    embed,
)
