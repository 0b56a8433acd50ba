"""PURE. Cleans the names, addresses, reasons and regions that people type, and refuses invalid ones."""

import re
import unicodedata
from collections.abc import Collection, Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext

from companion.frames import is_visible
from ops.changes import ChangeRefused

MAX_NAME_CHARS, MAX_SLUG_CHARS, MAX_BY_CHARS, MAX_REASON_CHARS = 100, 50, 100, 200
MAX_REGIONS = 20
MAX_EMAIL_CHARS = 254

# Controls, private and unassigned characters, line separators, surrogates: no name has them.
_FORBIDDEN = frozenset({"Cc", "Cn", "Co", "Cs", "Zl", "Zp"})
# Joined emoji and some scripts need these. Of others that are not seen, marks of direction make a page show something
# other than what was typed, and the rest make two names look the same.
_UNSEEN = frozenset(" \u200c\u200d\ufe0e\ufe0f")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_USERNAME = re.compile(r"[a-z0-9][a-z0-9._@+-]*", re.ASCII)


def clean_name(typed: str, *, whose: str = "", holds: int = MAX_NAME_CHARS) -> str:
    """A name as it is stored: single spaces, in normal form C; `holds` so many characters. Raises ChangeRefused."""
    return _clean(typed, whose=whose or gettext("A name"), holds=holds)


def clean_by(typed: str | None) -> str:
    """Who decides a change, for the record. Raises ChangeRefused."""
    if typed is None:
        raise ChangeRefused("Say who decides it: --by WHO. It stays on record.")
    return _clean(typed, whose=gettext("The name of who decides it"), holds=MAX_BY_CHARS)


def clean_reason(typed: str | None) -> str:
    """Why a change is made, for the record. Raises ChangeRefused."""
    if typed is None:
        raise ChangeRefused("Say why: --reason WHY. It stays on record; no word about any participant.")
    return _clean(typed, whose=gettext("The reason"), holds=MAX_REASON_CHARS)


def clean_slug(typed: str, *, whose: str = "a site") -> str:
    """The short name of a site or group, as it is typed in commands. Raises ChangeRefused."""
    if len(typed) > MAX_SLUG_CHARS or not _SLUG.fullmatch(typed):
        raise ChangeRefused(
            f"The short name of {whose} has small letters, digits and single hyphens, such as willow-house; "
            f"at most {MAX_SLUG_CHARS} of them."
        )
    return typed


def clean_username(typed: str) -> str:
    """What a member of staff signs in with. Raises ChangeRefused."""
    if len(typed) > MAX_NAME_CHARS or not _USERNAME.fullmatch(typed):
        raise ChangeRefused(
            "A username has small letters, digits and . _ @ + -, and begins with a letter "
            f"or digit; at most {MAX_NAME_CHARS} of them."
        )
    return typed


def clean_email(typed: str) -> str:
    """An e-mail address; empty for none. Raises ChangeRefused."""
    if typed:
        try:
            validate_email(typed)
        except ValidationError:
            raise ChangeRefused("This is no e-mail address.") from None
        if len(typed) > MAX_EMAIL_CHARS:
            raise ChangeRefused(f"An e-mail address can have {MAX_EMAIL_CHARS} characters.")
    return typed


def clean_regions(typed: Sequence[str], *, known: Collection[str]) -> list[str]:
    """Regions that a site allows, each once, in order. `known`: those in which a lane lies. Raises ChangeRefused."""
    if strange := [region for region in typed if region not in known]:
        there = ", ".join(sorted(known)) or "none"
        # A typing error would leave a whole site without replies.
        raise ChangeRefused(
            f"No lane lies in {strange[0]!a}, so people of this site would get no replies. Lanes lie in: {there}."
        )
    wanted = sorted(set(typed))
    if len(wanted) > MAX_REGIONS:
        raise ChangeRefused(f"A site names at most {MAX_REGIONS} regions.")
    return wanted


def _clean(typed: str, *, whose: str, holds: int) -> str:
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in typed):
        raise ChangeRefused(
            gettext("{whose} cannot be read: it is not UTF-8. Look at the settings of this terminal.").format(
                whose=whose
            )
        )
    if len(typed.strip().splitlines()) > 1:
        raise ChangeRefused(
            gettext("{whose} has to be one line. Write it without line breaks.").format(whose=whose)
        )
    plain = " ".join(unicodedata.normalize("NFC", typed).split())
    if not plain:
        raise ChangeRefused(gettext("{whose} cannot be empty.").format(whose=whose))
    if len(plain) > holds:
        raise ChangeRefused(
            gettext("{whose} can have {most} characters; this has {count}.").format(
                whose=whose, most=holds, count=len(plain)
            )
        )
    if not is_visible(plain) or any(map(_is_forbidden, plain)):
        raise ChangeRefused(gettext("{whose} holds a character that cannot be shown.").format(whose=whose))
    return plain


def _is_forbidden(letter: str) -> bool:
    return unicodedata.category(letter) in _FORBIDDEN or not (letter in _UNSEEN or is_visible(letter))
