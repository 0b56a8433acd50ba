"""Sheets of cards to print: one page of HTML, each card with its QR code, its pictures and its code.

Whose card is which stands on a page of its own, apart from the cards: a card that is found says nothing of its holder,
unless the site says so.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import segno
from django.contrib.staticfiles import finders
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext

from companion.cards import Card
from companion.models import Participant
from companion.participants import get_card
from ops import audit
from ops.changes import ChangeRefused
from ops.people.cards import get_public_url

MAX_CARDS = 60
"""Cards on one sheet: a browser prints more only slowly, and each is on record."""
QUIET_MODULES = 4
"""The white edge that a QR code needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrintedCard:
    """One card of a sheet. `number` stands on the card and in the list of holders."""

    number: int
    holder: str
    participant: int
    name: str
    """On the card itself; empty unless the site prints names."""
    site_name: str
    pictures: tuple[str, str]
    code: str
    qr_path: str
    """The dark modules of the QR code of its link, as the path of an SVG of `qr_size` units."""
    qr_size: int


def build_link(card: Card) -> str:
    """A card's link. A browser sends no fragment, so opening the link tells the service nothing."""
    return f"{get_public_url()}{reverse('card')}#{card.link}"


@transaction.atomic
def make_sheet(people: Collection[Participant], *, by: str, note: str = "") -> list[PrintedCard]:
    """The cards of these participants, by name. Each printing is recorded. Raises ChangeRefused."""
    if not people:
        raise ChangeRefused(gettext("Choose at least one person."))
    if len(people) > MAX_CARDS:
        raise ChangeRefused(
            gettext("A sheet has at most {most} cards; these are {count}.").format(
                most=MAX_CARDS, count=len(people)
            )
        )
    if any(not person.is_active for person in people):
        raise ChangeRefused(
            gettext("A card on this sheet was withdrawn. manage.py card NAME --restore gives a new one.")
        )
    sheet = []
    for number, person in enumerate(sorted(people, key=lambda one: (one.name, one.pk)), start=1):
        facts = audit.join_note(f"issue {person.card_issue}", note)
        audit.record(audit.PRINTED_CARD, who=by, about=person.pk, note=facts)
        sheet.append(_build(number, person))
    return sheet


def render_sheet(sheet: Sequence[PrintedCard], *, is_file: bool) -> str:
    """The page. `is_file`: it is opened from the disk, so its styles and pictures are in it."""
    facts: dict[str, object] = {"cards": sheet}
    if is_file:
        # Files of our own release, of which no part was typed by anyone.
        facts["styles"] = mark_safe(_read_static("ops/cards.css"))
        facts["pictures"] = mark_safe(_read_static("companion/pictures.svg"))
        return render_to_string("ops/card_sheet_file.html", facts)
    return render_to_string("ops/card_sheet.html", facts)


def _read_static(name: str) -> str:
    path = finders.find(name)
    if not isinstance(path, str):
        raise FileNotFoundError(f"{name} is missing from this release.")
    return Path(path).read_text(encoding="utf-8")


def draw_qr(text: str) -> tuple[str, int]:
    """The dark modules of a QR code as the path of an SVG, and the length of its side with the quiet zone."""
    # Medium: a quarter of a card may be worn or stained and it is read all the same.
    code = segno.make_qr(text, error="m")
    parts = [
        f"M{column + QUIET_MODULES} {row + QUIET_MODULES}h1v1h-1z"
        for row, modules in enumerate(code.matrix)
        for column, is_dark in enumerate(modules)
        if is_dark
    ]
    return "".join(parts), len(code.matrix) + 2 * QUIET_MODULES


def _build(number: int, person: Participant) -> PrintedCard:
    card = get_card(person)
    path, size = draw_qr(build_link(card))
    return PrintedCard(
        number=number,
        holder=person.name,
        participant=person.pk,
        name=person.name if person.site.prints_names_on_cards else "",
        site_name=person.site.name,
        pictures=card.pictures,
        code=card.code.upper(),
        qr_path=path,
        qr_size=size,
    )
