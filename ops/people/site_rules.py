"""The rules of a site that operators may set: how long it is quiet, what is shown, when a flag is escalated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from companion.forms import ExitAddressForm
from ops import audit
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup
from ops.text import escape_controls

LONGEST_DISCLOSURE_S = 10_800
"""Laws ask for it at least every three hours of talk."""
_DAY_S = 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteRule:
    """One rule: a field of `Site`, what its value means, and how a typed value is read. `read` raises ValueError."""

    field: str
    meaning: str
    read: Callable[[str], Any]
    unset: str = "none"
    """The word for no value."""

    def write(self, value: Any) -> str:
        """Return a value as it is typed."""
        match value:
            case None | "":
                return self.unset
            case bool():
                return "yes" if value else "no"
        return str(value)


def _seconds(low: int, high: int) -> Callable[[str], int]:
    def read(typed: str) -> int:
        if not (typed.isascii() and typed.isdigit() and low <= int(typed[:9]) <= high):
            raise ValueError(f"seconds from {low} to {high}")
        return int(typed)

    return read


def _quiet(typed: str) -> int | None:
    try:
        return None if typed == "staff" else _seconds(60, 7 * _DAY_S)(typed)
    except ValueError as refusal:
        raise ValueError(f"{refusal}, or the word staff") from None


def _yes_or_no(typed: str) -> bool:
    if typed not in {"yes", "no"}:
        raise ValueError("yes or no")
    return typed == "yes"


def _exit_address(typed: str) -> str:
    form = ExitAddressForm({"address": "" if typed == "none" else typed})
    if not form.is_valid():
        raise ValueError(
            "an https address of at most 200 characters, or the word none for our own plain page"
        )
    return str(form.cleaned_data["address"])


def _visit_hours(typed: str) -> int | None:
    if typed == "longest":
        return None
    if not (typed.isascii() and typed.isdigit() and 1 <= int(typed[:9]) <= 24):
        raise ValueError("hours from 1 to 24, or the word longest")
    return int(typed)


def _language(typed: str) -> str:
    known = [language for language, _ in settings.LANGUAGES]
    if typed not in known:
        raise ValueError(f"one of {', '.join(known)}")
    return typed


SITE_RULES = (
    SiteRule(
        field="language",
        meaning="language of people for whom none is recorded, and of its machines before they come in",
        read=_language,
    ),
    SiteRule(
        field="quiet_s",
        meaning="time after a red message until the companion may speak again by itself; staff: when they release it",
        read=_quiet,
        unset="staff",
    ),
    SiteRule(
        field="disclosure_s",
        meaning="time of talk after which it says again that it is a computer program",
        read=_seconds(60, LONGEST_DISCLOSURE_S),
    ),
    SiteRule(
        field="shows_reading", meaning="whether people are shown that staff read along", read=_yes_or_no
    ),
    SiteRule(
        field="shares_person_words",
        meaning="whether prompts after a hand-back contain what staff and the participant wrote",
        read=_yes_or_no,
    ),
    SiteRule(
        field="cards_only_on_machines",
        meaning="whether cards of the site open visits on its own machines alone",
        read=_yes_or_no,
    ),
    SiteRule(
        field="prints_names_on_cards",
        meaning="whether printed cards have the name of their holder on them",
        read=_yes_or_no,
    ),
    SiteRule(
        field="first_ring_s",
        meaning="time until a flag that no member of staff accepted rings for all staff of the site",
        read=_seconds(5, _DAY_S),
    ),
    SiteRule(
        field="second_ring_s",
        meaning="time until it goes to the programme's on-call",
        read=_seconds(5, _DAY_S),
    ),
    SiteRule(
        field="idle_s",
        meaning="time without a sign of life after which a page locks; the needs of a person multiply it",
        read=_seconds(60, 3_600),
    ),
    SiteRule(
        field="visit_hours",
        meaning="hours after which a visit ends, whatever its participant does; longest: those of COMPANION_VISIT_S",
        read=_visit_hours,
        unset="longest",
    ),
    SiteRule(
        field="exit_address",
        meaning="the https address that the button to leave at once leads to; none: our own plain page",
        read=_exit_address,
    ),
)
_BY_FIELD = {rule.field: rule for rule in SITE_RULES}


@transaction.atomic
def set_rules(slug: str, typed: Sequence[str], *, by: str) -> ChangeResult:
    """Set rules of a site, each typed as `name=value`. None: show them. In force from the next turn or flag on."""
    site = lookup.get_site(slug)
    changed = {}
    for one in typed:
        rule, value = _parse(one)
        if getattr(site, rule.field) != value:
            changed[rule.field] = rule.write(value)
            setattr(site, rule.field, value)
    if site.second_ring_s < site.first_ring_s:
        raise ChangeRefused("second_ring_s counts from the same moment as first_ring_s and cannot be less.")
    rules = ", ".join(f"{rule.field}={rule.write(getattr(site, rule.field))}" for rule in SITE_RULES)
    if not changed:
        return ChangeResult(sentence=f"{escape_controls(site.name)}: {rules}.", is_new=False)
    site.save(update_fields=list(changed))
    facts = ", ".join(f"{field}={value}" for field, value in changed.items())
    audit.record(
        audit.SET_SITE_RULES, who=by, note=audit.format_command_note(f"site {site.pk}, {facts}"[:150])
    )
    return ChangeResult(sentence=f"{escape_controls(site.name)} is now: {rules}.")


def _parse(typed: str) -> tuple[SiteRule, Any]:
    field, _, value = typed.partition("=")
    rule = _BY_FIELD.get(field)
    if rule is None:
        raise ChangeRefused(
            f"{escape_controls(field)} is no rule of a site. There are: {', '.join(_BY_FIELD)}."
        )
    try:
        return rule, rule.read(value)
    except ValueError as refusal:
        raise ChangeRefused(f"{field} takes {refusal}, not {escape_controls(value)!r}.") from None
