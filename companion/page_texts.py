"""Texts of the participants' pages that templates name by a value, so that the catalogue has them."""

from django.utils.translation import gettext_noop

PICTURE_NAMES = (
    gettext_noop("Apple"),
    gettext_noop("Bell"),
    gettext_noop("Boat"),
    gettext_noop("Cup"),
    gettext_noop("Fish"),
    gettext_noop("Heart"),
    gettext_noop("House"),
    gettext_noop("Key"),
    gettext_noop("Moon"),
    gettext_noop("Star"),
    gettext_noop("Sun"),
    gettext_noop("Tree"),
)
"""In the order of `cards.PICTURES`."""
