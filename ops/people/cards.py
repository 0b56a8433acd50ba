"""Participants and their cards: to add somebody, to print a card, and to make a lost one useless. All on record."""

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from companion.access import add_participant, end_visits, get_card
from companion.models import Participant
from ops import audit, names
from ops.changes import Done, Refused
from ops.people import finding
from ops.text import escape_controls


@dataclass(frozen=True, kw_only=True, slots=True)
class Meant:
    """Which participant: the name, and the site or the number where several have it."""

    name: str
    site: str | None = None
    number: int | None = None


@transaction.atomic
def printed(meant: Meant, *, by: str) -> Done:
    """The card as it is. Whoever holds it reads everything its owner ever wrote, so printing is on record."""
    person = _meant(meant, is_active=True)
    if not person.is_active:
        raise Refused(f"The card of {_told(person)} was withdrawn. --restore gives them a new one.")
    audit.record(
        audit.PRINTED_CARD, who=by, about=person.pk, note=audit.by_command(f"issue {person.card_issue}")
    )
    return Done(sentence="", card=get_card(person))


@transaction.atomic
def added(meant: Meant, *, by: str) -> Done:
    """Somebody new, with a card; or the card of whoever is there by that name already."""
    if found := finding.people(meant.name, site=meant.site, number=meant.number):
        person = finding.person(found, meant.name, is_active=True)
        if not person.is_active:
            raise Refused(
                f"{_told(person)} was here before. --restore gives them a new card, and they find what they wrote. "
                "Somebody else needs another name, so that nobody confuses the two."
            )
        return printed(meant, by=by)
    if meant.number is not None:
        raise Refused("A number is given by the service: leave --number out to add somebody.")
    site = finding.the_site(meant.site)
    person = add_participant(names.name(meant.name), site=site)
    audit.record(audit.ADDED_PERSON, who=by, about=person.pk, note=audit.by_command(f"site {site.pk}"))
    sentence = f"{escape_controls(person.name)} was added to {escape_controls(site.name)}."
    return Done(sentence=sentence, card=get_card(person))


@transaction.atomic
def renewed(meant: Meant, *, by: str) -> Done:
    """A new card. The one before opens nothing from now on, and whoever came in with it is out."""
    person = _meant(meant, is_active=True)
    if not person.is_active:
        raise Refused(f"The card of {_told(person)} was withdrawn. --restore gives them a new one.")
    ended = _reissue(person, is_active=True)
    _record(audit.RENEWED_CARD, person, ended, by=by)
    return Done(
        sentence=f"{_told(person)} has a new card. The old one opens nothing any more; visits ended: {ended}.",
        card=get_card(person),
    )


@transaction.atomic
def withdrawn(meant: Meant, *, by: str) -> Done:
    """No card of this person opens anything; what they wrote is kept."""
    person = _meant(meant, is_active=True)
    if not person.is_active:
        return Done(sentence=f"The card of {_told(person)} was withdrawn before.", is_new=False)
    ended = _reissue(person, is_active=False)
    _record(audit.WITHDREW_CARD, person, ended, by=by)
    return Done(
        sentence=f"The card of {_told(person)} is withdrawn and opens nothing; visits ended: {ended}."
    )


@transaction.atomic
def restored(meant: Meant, *, by: str) -> Done:
    """Somebody comes back, with a new card, to what they wrote before."""
    person = _meant(meant, is_active=False)
    if person.is_active:
        return Done(sentence=f"The card of {_told(person)} is not withdrawn.", is_new=False)
    ended = _reissue(person, is_active=True)
    _record(audit.RESTORED_CARD, person, ended, by=by)
    return Done(sentence=f"{_told(person)} is back, with a new card.", card=get_card(person))


def _meant(meant: Meant, *, is_active: bool) -> Participant:
    found = finding.people(meant.name, site=meant.site, number=meant.number)
    return finding.person(found, meant.name, is_active=is_active)


def _reissue(person: Participant, *, is_active: bool) -> int:
    person.is_active = is_active
    person.card_issue += 1
    person.link_misses = 0
    person.save(update_fields=["is_active", "card_issue", "link_misses"])
    return end_visits([person.pk])


def _record(what: str, person: Participant, ended: int, *, by: str) -> None:
    note = audit.by_command(f"issue {person.card_issue}, visits ended {ended}")
    audit.record(what, who=by, about=person.pk, note=note)


def _told(person: Participant) -> str:
    return f"{escape_controls(person.name)} at {escape_controls(person.site.name)}"


def first_origin() -> str:
    """Where a browser finds the service: the first of TRUSTED_ORIGINS."""
    return settings.TRUSTED_ORIGINS[0].rstrip("/") if settings.TRUSTED_ORIGINS else "http://127.0.0.1:8000"
