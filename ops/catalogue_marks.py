"""Marks texts for the catalogue, where they are declared and not yet shown. Needs no settings.

Django's function of this name asks the settings, and some modules with texts are read before them.
"""


def gettext_noop(text: str) -> str:
    """The text as it is. `manage.py catalogues` finds it; who shows it calls `gettext`."""
    return text
