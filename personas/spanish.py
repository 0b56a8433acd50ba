"""PURE. The wording rules of Spanish: longer sentences than English needs, and a measure made for Spanish."""

import re

from personas.spanish_never import FAMILIAR, HOOKS, NUMBERS, PLACES, PROMISES, TECHNICAL, UNKIND
from personas.spanish_reading import count_syllables, perspicuity
from personas.wording_rules import WordingRules

MIN_PERSPICUITY = 65.0
"""INFLESZ calls 65 to 80 “fairly easy”: what a person with little schooling reads without help."""


def _explain_perspicuity(text: str) -> str | None:
    reached = perspicuity(text)
    if reached >= MIN_PERSPICUITY:
        return None
    return f"perspicuity {reached:.0f} on the INFLESZ scale, at least {MIN_PERSPICUITY:g}"


RULES = WordingRules(
    max_words=15,
    explain_hard=_explain_perspicuity,
    count_syllables=count_syllables,
    max_syllables=5,
    max_mean_syllables=2.5,
    technical=TECHNICAL,
    unkind=UNKIND,
    promises=PROMISES,
    places=PLACES,
    hooks=HOOKS,
    time_span=re.compile(
        rf"\b({'|'.join(NUMBERS)})\s+(segundo|minuto|minutito|hora|horita|día|semana)s?\b", re.I
    ),
    promises_allowed={"queued": frozenset({"en un momento", "un momento"})},
    address=FAMILIAR,
    guesses=re.compile(r"\w@(?:s\b|\b)|\w[ao]/[ao]s?\b|\w\([ao]s?\)", re.I),
)
