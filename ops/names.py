"""PURE. What people, sites and staff may be called. Every name from outside comes through here."""

import re
import unicodedata
from collections.abc import Collection, Sequence

from ops.changes import Refused

NAME_HOLDS, SLUG_HOLDS, WHO_HOLDS, WHY_HOLDS = 100, 50, 100, 200
REGIONS_HOLD = 20

# Controls, private and unknown letters, lines, halves of a letter: none can be part of what somebody is called.
_NEVER = frozenset({"Cc", "Cn", "Co", "Cs", "Zl", "Zp"})
# These turn the direction of a line, and what stands on a page would not be what was typed.
_TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_USERNAME = re.compile(r"[a-z0-9][a-z0-9._@+-]*", re.ASCII)


def name(typed: str, *, whose: str = "A name") -> str:
    """A name as it is stored: one space between words, letters composed. Raises Refused."""
    return _words(typed, whose=whose, holds=NAME_HOLDS)


def who(typed: str | None) -> str:
    """Who asks for a change, for the record. Raises Refused."""
    if typed is None:
        raise Refused("Say who decides it: --by WHO. It stays on record.")
    return _words(typed, whose="The name of who decides it", holds=WHO_HOLDS)


def why(typed: str | None) -> str:
    """Why it is done, for the record, whether a command or a page asks. Raises Refused."""
    if typed is None:
        raise Refused("Say why: --reason WHY. It stays on record; no word about any participant.")
    return _words(typed, whose="The reason", holds=WHY_HOLDS)


def slug(typed: str) -> str:
    """The short name of a site, as it is typed in commands. Raises Refused."""
    if len(typed) > SLUG_HOLDS or not _SLUG.fullmatch(typed):
        raise Refused(
            f"The short name of a site has small letters, digits and single hyphens, such as willow-house; "
            f"at most {SLUG_HOLDS} of them."
        )
    return typed


def username(typed: str) -> str:
    """What a member of staff signs in with. Raises Refused."""
    if len(typed) > NAME_HOLDS or not _USERNAME.fullmatch(typed):
        raise Refused(
            "What somebody signs in with has small letters, digits and . _ @ + -, and begins with a letter "
            f"or digit; at most {NAME_HOLDS} of them."
        )
    return typed


def regions(typed: Sequence[str], *, known: Collection[str]) -> list[str]:
    """Regions that a site allows, each once, in order. `known`: those in which a lane lies. Raises Refused."""
    if strange := [region for region in typed if region not in known]:
        there = ", ".join(sorted(known)) or "none"
        # A slip of the hand would leave a whole house without an answer.
        raise Refused(
            f"No lane lies in {strange[0]!a}, so nobody of this site would be answered. Lanes lie in: {there}."
        )
    wanted = sorted(set(typed))
    if len(wanted) > REGIONS_HOLD:
        raise Refused(f"A site names at most {REGIONS_HOLD} regions.")
    return wanted


def _words(typed: str, *, whose: str, holds: int) -> str:
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in typed):
        raise Refused(f"{whose} cannot be read: it is not UTF-8. Look at the settings of this terminal.")
    if len(typed.strip().splitlines()) > 1:
        raise Refused(f"{whose} has to be one line. Write it without line breaks.")
    plain = " ".join(unicodedata.normalize("NFC", typed).split())
    if not plain:
        raise Refused(f"{whose} cannot be empty.")
    if len(plain) > holds:
        raise Refused(f"{whose} can have {holds} characters; this has {len(plain)}.")
    if any(letter in _TURNING or unicodedata.category(letter) in _NEVER for letter in plain):
        raise Refused(f"{whose} holds a character that cannot be shown.")
    return plain
