"""How much CPU it takes to read one message by the rules, as the service does before it stores the message."""

import time

from companion.supervision.noticing import Noticing
from personas.safety import load

USUAL_MESSAGES = (
    "Hello.",
    "Yes please.",
    "How are you today?",
    "I did not sleep very well, so I am a bit tired.",
    "My daughter rang this morning and she is coming on Sunday with the children.",
    "What was the name of that film with the two old men and the boat? I can't remember it.",
    "i had beans on toast for lunch and then a nap, nothing special really",
    "The nurse came at ten. She changed the dressing and said it looks much better than last week!",
    "I don't know what to write. You ask me something.",
    "It rained all day, so we could not go out to the garden. I watched the birds from the window instead. There "
    "was a robin and two blackbirds, and a squirrel that stole the nuts again.",
    "we used to go dancing every saturday my wife and me at the palais, it cost two shillings and the band was very "
    "good, i can still hear it when i close my eyes",
    "My knee hurts when I go up the stairs. I take two tablets after breakfast as the doctor said, and I put my "
    "foot up in the afternoon. Do you think that swimming would be good for it? My neighbour goes every Tuesday.",
    "I miss my old house. It had a yellow door and a pear tree, and in the summer we ate outside with everyone from "
    "the street. The people who live there now have cut the tree down. I saw it from the bus last week and I was sad "
    "for the rest of the day, but then my friend Margaret came with cake and we talked about the old times until it "
    "was dark.",
)
"""Synthetic: everyday talk of one word to eighty, without a signal."""
TIMES = 40


def measure_noticing() -> list[float]:
    """The CPU milliseconds of each reading, of every message many times over."""
    noticing = Noticing(load())
    for text in USUAL_MESSAGES:
        noticing.read_message(text)
    taken = []
    for _ in range(TIMES):
        for text in USUAL_MESSAGES:
            began = time.thread_time()
            noticing.read_message(text)
            noticing.asks_if_human(text)
            taken.append((time.thread_time() - began) * 1000)
    return taken
