"""Why a card that is valid opens no visit."""


class SiteClosed(Exception):
    """The card is valid, but its site is not open."""


class NotHere(Exception):
    """The card is valid, but opens nothing in this browser.

    `needs_machine`: its site lets cards work on its own machines alone. Otherwise this is a machine of another site.
    """

    def __init__(self, *, needs_machine: bool) -> None:
        super().__init__("only on machines of the site" if needs_machine else "on a machine of another site")
        self.needs_machine = needs_machine


class WrongPictures(Exception):
    """The link is valid, but the chosen pictures are not the ones on the card."""
