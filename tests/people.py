"""The cast: Rosa, a participant; Otto, a stranger at another site; Sam, her supervisor; Ines, an operator."""

import itertools
import uuid
from dataclasses import dataclass

import httpx
from django.contrib.auth.models import User

from companion import access
from companion.models import Conversation, Participant, Site, Turn

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Person:
    """A participant and the letters of a card."""

    row: Participant
    card: str

    @property
    def conversation(self) -> Conversation:
        """What this person and the character say to each other."""
        found: Conversation = self.row.conversation
        return found

    def sign_in(self, base_url: str) -> str:
        """Open the card's link as a browser does; returns the session cookie's value."""
        with httpx.Client(base_url=base_url, trust_env=False) as browser:
            answer = browser.get(f"/card/{self.card}/")
            assert answer.status_code == 302, answer.status_code
            return browser.cookies["companion"]

    def turns(self) -> list[Turn]:
        """This person's turns as stored, oldest first."""
        return list(Turn.objects.filter(conversation=self.conversation).order_by("id"))


class People:
    """A site of its own for each test, so that tests never see each other's people."""

    def __init__(self) -> None:
        number = next(_numbers)
        self._word = f"{number}-{uuid.uuid4().hex[:6]}"
        self.site = Site.objects.create(slug=f"house-{self._word}", name=f"House {number}")
        self.elsewhere = Site.objects.create(slug=f"other-{self._word}", name=f"Other house {number}")

    def participant(self, name: str = "Rosa") -> Person:
        """Someone of this site."""
        row = access.welcome(name, site=self.site)
        return Person(row=row, card=access.card_of(row))

    @property
    def rosa(self) -> Person:
        """A participant, new at each call."""
        return self.participant("Rosa")

    @property
    def otto(self) -> Person:
        """A stranger: a participant of another site."""
        row = access.welcome("Otto", site=self.elsewhere)
        return Person(row=row, card=access.card_of(row))

    def sam(self) -> User:
        """Rosa's supervisor."""
        return User.objects.create_user(f"sam-{self._word}", password=self._word, is_staff=True)
