"""The helpline of a site: the numbers that its safety lines name, who answers for them, and their next review."""

import re
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.utils.timezone import localdate

from companion.models import Site
from ops import audit, names
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup
from ops.text import escape_controls

MAX_NUMBER_CHARS = 40
# A number to call has digits and what people write between them. A text line may want a word: HOME to 741741.
_VOICE = re.compile(r"[0-9 +()./-]*[0-9][0-9 +()./-]*", re.ASCII)
_TEXT = re.compile(r"[0-9A-Za-z +()./-]*[0-9][0-9A-Za-z +()./-]*", re.ASCII)
MEND = (
    'manage.py site helpline {} --voice NUMBER --text NUMBER --owner "NAME" --review-by YYYY-MM-DD --by WHO'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HelplineChange:
    """What is to stand at a site; None leaves a value as it is."""

    voice: str | None = None
    text: str | None = None
    owner: str | None = None
    review_by: date | None = None


@transaction.atomic
def set_helpline(slug: str, change: HelplineChange, *, by: str) -> ChangeResult:
    """Set the helpline of a site. All four values must stand afterwards. Safety lines name it from the next one on."""
    site = lookup.get_site(slug)
    before = _values(site)
    if change.voice is not None:
        site.helpline_voice = _clean_number(change.voice, _VOICE, "The number to call")
    if change.text is not None:
        site.helpline_text = _clean_number(change.text, _TEXT, "The number to text")
    if change.owner is not None:
        site.helpline_owner = names.clean_name(change.owner, whose="The name of who answers for the helpline")
    if change.review_by is not None:
        site.helpline_review_by = _clean_review(change.review_by)
    if missing := list_missing(site):
        raise ChangeRefused(f"A helpline needs {', '.join(missing)} too: {MEND.format(site.slug)}.")
    where = escape_controls(site.name)
    numbers = f"call {site.helpline_voice}, text {site.helpline_text}"
    if _values(site) == before:
        return ChangeResult(sentence=f"The helpline of {where} was {numbers} before.", is_new=False)
    site.save(update_fields=["helpline_voice", "helpline_text", "helpline_owner", "helpline_review_by"])
    facts = f"site {site.pk}, review by {site.helpline_review_by}"
    audit.record(audit.SET_HELPLINE, who=by, note=audit.format_command_note(facts))
    opens = "" if site.is_open else f" The site is closed: manage.py site open {site.slug} --by WHO."
    return ChangeResult(
        sentence=f"The helpline of {where}: {numbers}. {escape_controls(site.helpline_owner)} answers for it; "
        f"it is reviewed by {site.helpline_review_by}.{opens}"
    )


def refuse_without_helpline(site: Site) -> None:
    """Raises ChangeRefused for a site whose helpline is not complete: it may not open."""
    if list_missing(site):
        raise ChangeRefused(
            f"{escape_controls(site.name)} cannot open without a helpline: {MEND.format(site.slug)}."
        )


def list_missing(site: Site) -> list[str]:
    """What a site's helpline still needs, as the options of the command."""
    values = {
        "--voice": site.helpline_voice,
        "--text": site.helpline_text,
        "--owner": site.helpline_owner,
        "--review-by": site.helpline_review_by,
    }
    return [option for option, value in values.items() if not value]


def _values(site: Site) -> tuple[str, str, str, date | None]:
    return site.helpline_voice, site.helpline_text, site.helpline_owner, site.helpline_review_by


def _clean_number(typed: str, shape: re.Pattern[str], whose: str) -> str:
    number = names.clean_name(typed, whose=whose)
    if len(number) > MAX_NUMBER_CHARS or not shape.fullmatch(number):
        raise ChangeRefused(
            f"{whose} has digits, spaces and + ( ) - . / alone, at most {MAX_NUMBER_CHARS} characters"
            f"{'; a word to text may stand before it' if shape is _TEXT else ''}."
        )
    return number


def _clean_review(day: date) -> date:
    if day < localdate():
        raise ChangeRefused(f"The review of a helpline lies ahead; {day} is over.")
    return day
