"""PURE. The wording rules of English."""

import re

from personas.english_never import HOOKS, NUMBERS, PLACES, PROMISES, TECHNICAL, UNKIND
from personas.reading import count_syllables, grade
from personas.wording_rules import WordingRules

MAX_GRADE = 5.0


def _explain_grade(text: str) -> str | None:
    reached = grade(text)
    return f"school grade {reached:.1f}, at most {MAX_GRADE:g}" if reached > MAX_GRADE else None


RULES = WordingRules(
    max_words=13,
    explain_hard=_explain_grade,
    count_syllables=count_syllables,
    max_syllables=3,
    max_mean_syllables=1.6,
    technical=TECHNICAL,
    unkind=UNKIND,
    promises=PROMISES,
    places=PLACES,
    hooks=HOOKS,
    time_span=re.compile(rf"\b({'|'.join(NUMBERS)}|an?)\s+(of\s+)?(second|minute|min|hour|day)s?\b", re.I),
    # Allowed in the queued line: the wait ceiling is short, and "try again" follows it.
    promises_allowed={"queued": frozenset({"in a moment", "a moment"})},
)
