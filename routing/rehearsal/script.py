"""PURE. What the rehearsal companion says: kind, plain, as long as a real reply, the same each time."""

import hashlib
import itertools
import random
import re
from collections.abc import Iterator

_TOPICS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"\b(sleep|slept|tired|awake|night|bed|dream)",
        (
            "Nights can feel long. It is good that you told me.",
            "Rest matters, and it does not always come easily.",
            "A bad night can make the whole day feel heavy.",
        ),
    ),
    (
        r"\b(mum|mom|dad|mother|father|brother|sister|son|daughter|family|child|kids?)\b",
        (
            "The people close to us can fill our thoughts.",
            "Family can be warm and hard, both on the same day.",
            "It makes sense that they are on your mind.",
        ),
    ),
    (
        r"\b(eat|ate|food|cook|lunch|dinner|breakfast|hungry|tea|coffee|soup)",
        (
            "A meal is more than food. It gives the day a shape.",
            "Something warm to eat can be a kind thing to give yourself.",
            "Small meals count too, even on days when little else gets done.",
        ),
    ),
    (
        r"\b(worr|scared|afraid|nervous|anxious|panic|stress)",
        (
            "Worry can be loud. It helps to say it in plain words, as you did.",
            "That sounds like a lot to carry.",
            "It is all right to feel uneasy about this.",
        ),
    ),
    (
        r"\b(sad|cry|cried|lonely|alone|miss|lost|hurt|down)\b",
        (
            "That sounds heavy. I am glad you did not keep it to yourself.",
            "Some days are grey, and that is not your fault.",
            "It is all right to be sad for a while.",
        ),
    ),
    (
        r"\b(angry|mad|unfair|annoy|shout|fight|argu)",
        (
            "It is fair to feel cross when something matters to you.",
            "Anger often tells us that something was not right.",
            "You can be angry and still be kind. You are doing both.",
        ),
    ),
    (
        r"\b(work|job|money|rent|bills?|course|class|school)\b",
        (
            "There is a lot to think about there. One step is enough for now.",
            "Plans like that are easier when they are cut into small parts.",
            "You have already done the first part by looking at it.",
        ),
    ),
    (
        r"\b(walk|garden|bird|rain|sun|weather|outside|park|tree)",
        (
            "Going outside can help, even for a little while.",
            "I like that you notice what is around you.",
            "Fresh air does not fix things, but it can make room.",
        ),
    ),
    (
        r"\b(thank|thanks|good|great|happy|glad|better|nice)\b",
        (
            "I am glad to hear that. Good moments are worth keeping.",
            "That is good news, and you had a part in it.",
            "It is nice to hear something warm from you.",
        ),
    ),
)
_ANYTHING = (
    "Thank you for telling me that.",
    "I am glad you wrote to me about this.",
    "That is worth taking some time over.",
    "I have read what you wrote, slowly and with care.",
)
_MIDDLES = (
    "We can look at it together, one small piece at a time.",
    "There is no hurry here. There is no wrong way to say it.",
    "It can help to write down a few words about it.",
    "You could start with the part that feels lightest.",
    "A slow breath or a glass of water can be a start.",
    "You do not have to sort out all of it today.",
    "You could think of one thing that went all right this week.",
    "Many people find that a short list makes a big thing look smaller.",
    "You could tell someone who works here about it. They are good at listening.",
    "If it changes from day to day, that is quite usual.",
    "Even a small change can be enough for today.",
    "You know yourself well, and you can trust that.",
    "Some things get clearer when they have been said out loud.",
    "It is fine to leave it for now and come back later.",
)
_CLOSINGS = (
    "Tell me more when you like.",
    "What part of it would you like to talk about first?",
    "I am here, and we have time.",
    "You can stop at any point. That is fine too.",
    "What would make today a little easier?",
)
SENTENCES = (*(said for _, openings in _TOPICS for said in openings), *_ANYTHING, *_MIDDLES, *_CLOSINGS)
"""Everything it can say but its name, for the lint."""
_NAME = re.compile(r"\b(?:You are|Your name is|named|called)\s+([A-Z][a-z]+)\b")
_INSTRUCTION = re.compile(r"\b(question|message)s?\b.*\b(answer)\b.*\b(first|before|in order)\b", re.I | re.S)
_CODE = re.compile(r"\b[a-z]+-\d+-\d+\b")
_WHO = re.compile(r"\b(who|what) are you\b|\byour name\b|^\s*(hi|hello|hey|good (morning|evening))\b", re.I)


def name_in(system: str) -> str | None:
    """The character's name, if the system message gives one in the usual words."""
    found = _NAME.search(system)
    return found[1] if found else None


def reply(question: str, *, name: str | None = None, words: int | None = None) -> str:
    """A reply to a question: 40 to 120 words in paragraphs, or exactly `words`; the same for the same text.

    A question with several parts, one paragraph each, is answered part by part, in order.
    """
    chance = random.Random(hashlib.sha256(question.encode("utf-8", "replace")).digest())
    middles = itertools.cycle(chance.sample(_MIDDLES, len(_MIDDLES)))
    asked = parts(question)
    share = max(20, 100 // (len(asked) + 1))
    paragraphs = [_paragraph(part, middles, name=name, chance=chance, words=share) for part in asked]
    if len(asked) == 1:
        paragraphs.append(_fill([], middles, words=chance.randint(12, 45)))
    text = "\n\n".join(paragraphs) + " " + chance.choice(_CLOSINGS)
    return text if words is None else _exactly(text, words, middles)


def coded_reply(question: str, *, words: int | None = None) -> str:
    """A reply by which every word tells its question: `kestrel-17-3.1 kestrel-17-3.2 …` for the code `kestrel-17-3`.

    The codes of a message are answered in order, each with its numbered words: 12 to 40 together, for one question in
    five 260 to 340, more than a page is sent without an acknowledgement; or exactly `words`. Empty without a code.
    """
    codes = list(dict.fromkeys(_CODE.findall(question)))
    if not codes:
        return ""
    chance = random.Random(hashlib.sha256(question.encode("utf-8", "replace")).digest())
    usual = chance.randint(260, 340) if chance.randrange(5) == 0 else chance.randint(12, 40)
    count = max(words or usual, len(codes))
    shares = [count // len(codes) + (place < count % len(codes)) for place in range(len(codes))]
    return " ".join(
        f"{code}.{number}"
        for code, share in zip(codes, shares, strict=True)
        for number in range(1, share + 1)
    )


def parts(question: str) -> list[str]:
    """The separate questions in a message: those after an instruction to answer earlier ones first, else the whole."""
    first, *rest = [block for block in question.split("\n\n") if block.strip()] or [question]
    return rest if len(rest) > 1 and _INSTRUCTION.search(first) else [question]


def pieces(text: str) -> list[str]:
    """A text as a provider would send it: word by word, each with the space before it."""
    return re.findall(r"\s*\S+(?:\s+$)?", text)


def _paragraph(
    part: str, middles: Iterator[str], *, name: str | None, chance: random.Random, words: int
) -> str:
    said = [chance.choice(_openings(part))]
    if name and _WHO.search(part):
        said.insert(0, f"Hello. I am {name}, a computer program you can talk to.")
    return _fill(said, middles, words=chance.randint(words // 2, words - 8))


def _openings(part: str) -> tuple[str, ...]:
    return next((openings for pattern, openings in _TOPICS if re.search(pattern, part, re.I)), _ANYTHING)


def _fill(said: list[str], middles: Iterator[str], *, words: int) -> str:
    """Add sentences until there are at least so many words."""
    while sum(len(sentence.split()) for sentence in said) < words:
        said.append(next(middles))
    return " ".join(said)


def _exactly(text: str, words: int, middles: Iterator[str]) -> str:
    found = pieces(text)
    while len(found) < words:
        found += pieces("\n\n" + _fill([], middles, words=min(60, words)))
    return "".join(found[:words])
