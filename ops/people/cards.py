"""Participants and their cards: add, print, renew, withdraw, restore. Every change is recorded in the audit."""

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from companion.models import Participant
from companion.participants import add_participant, get_card
from companion.visits.leaving import end_visits_of
from ops import audit, names
from ops.changes import ChangeRefused, ChangeResult
from ops.people import lookup
from ops.text import escape_controls


@dataclass(frozen=True, kw_only=True, slots=True)
class ParticipantQuery:
    """Names a participant: by name, and by site or number where several share it."""

    name: str
    site: str | None = None
    number: int | None = None


@transaction.atomic
def print_card(query: ParticipantQuery, *, by: str) -> ChangeResult:
    """The current card. Its holder can read everything the participant wrote, so printing is recorded."""
    person = _lock(query, is_active=True)
    if not person.is_active:
        raise ChangeRefused(
            f"The card of {_format_person(person)} was withdrawn. --restore gives them a new one."
        )
    audit.record(
        audit.PRINTED_CARD,
        who=by,
        about=person.pk,
        note=audit.format_command_note(f"issue {person.card_issue}"),
    )
    return ChangeResult(sentence="", card=get_card(person))


@transaction.atomic
def enrol_participant(query: ParticipantQuery, *, by: str) -> ChangeResult:
    """A new participant with a card; the current card if there is one of that name already."""
    # Never a second person of the same name by a repeated command: staff would confuse the two.
    if found := lookup.find_participants(query.name, site=query.site, number=query.number):
        person = lookup.choose_participant(found, query.name, is_active=True)
        if not person.is_active:
            raise ChangeRefused(
                f"{_format_person(person)} was here before. "
                "--restore gives them a new card, and they find what they wrote. "
                "Another person needs another name, so that the two are not confused."
            )
        return print_card(query, by=by)
    if query.number is not None:
        raise ChangeRefused("A number is given by the service: leave --number out to add a participant.")
    site = lookup.get_only_site(query.site)
    person = add_participant(names.clean_name(query.name), site=site)
    audit.record(
        audit.ADDED_PERSON, who=by, about=person.pk, note=audit.format_command_note(f"site {site.pk}")
    )
    sentence = f"{escape_controls(person.name)} was added to {escape_controls(site.name)}."
    return ChangeResult(sentence=sentence, card=get_card(person))


@transaction.atomic
def renew_card(query: ParticipantQuery, *, by: str) -> ChangeResult:
    """A new card. The old one stops working, and visits that began with it end."""
    person = _lock(query, is_active=True)
    if not person.is_active:
        raise ChangeRefused(
            f"The card of {_format_person(person)} was withdrawn. --restore gives them a new one."
        )
    ended = _reissue(person, is_active=True)
    _record(audit.RENEWED_CARD, person, ended, by=by)
    return ChangeResult(
        sentence=f"{_format_person(person)} has a new card. The old one opens nothing any more; visits ended: {ended}.",
        card=get_card(person),
    )


@transaction.atomic
def withdraw_card(query: ParticipantQuery, *, by: str) -> ChangeResult:
    """Withdraw the card; what the participant wrote is kept."""
    person = _lock(query, is_active=True)
    if not person.is_active:
        return ChangeResult(
            sentence=f"The card of {_format_person(person)} was withdrawn before.", is_new=False
        )
    ended = _reissue(person, is_active=False)
    _record(audit.WITHDREW_CARD, person, ended, by=by)
    return ChangeResult(
        sentence=f"The card of {_format_person(person)} is withdrawn and opens nothing; visits ended: {ended}."
    )


@transaction.atomic
def restore_card(query: ParticipantQuery, *, by: str) -> ChangeResult:
    """A participant comes back, with a new card, to what they wrote before."""
    person = _lock(query, is_active=False)
    if person.is_active:
        return ChangeResult(sentence=f"The card of {_format_person(person)} is not withdrawn.", is_new=False)
    ended = _reissue(person, is_active=True)
    _record(audit.RESTORED_CARD, person, ended, by=by)
    return ChangeResult(sentence=f"{_format_person(person)} is back, with a new card.", card=get_card(person))


def _lock(query: ParticipantQuery, *, is_active: bool) -> Participant:
    found = lookup.find_participants(query.name, site=query.site, number=query.number)
    # Locked, so that of two changes at once the second sees the first one's card.
    return lookup.lock_participant(lookup.choose_participant(found, query.name, is_active=is_active))


def _reissue(person: Participant, *, is_active: bool) -> int:
    person.is_active = is_active
    person.card_issue += 1
    # A new card has other pictures, so wrong choices for the old one say nothing about it.
    person.link_places = {}
    person.save(update_fields=["is_active", "card_issue", "link_places"])
    return end_visits_of([person.pk])


def _record(what: str, person: Participant, ended: int, *, by: str) -> None:
    note = audit.format_command_note(f"issue {person.card_issue}, visits ended {ended}")
    audit.record(what, who=by, about=person.pk, note=note)


def _format_person(person: Participant) -> str:
    return f"{escape_controls(person.name)} at {escape_controls(person.site.name)}"


def get_public_url() -> str:
    """The service's address for browsers: the first of TRUSTED_ORIGINS."""
    return settings.TRUSTED_ORIGINS[0].rstrip("/") if settings.TRUSTED_ORIGINS else "http://127.0.0.1:8000"
