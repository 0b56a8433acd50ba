"""The cast: Rosa, a participant; Otto, a stranger at another site; Sam, her supervisor; Ines, an operator."""

import itertools
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

import httpx
from django.contrib.auth.models import Group, User
from django.db import connection

from companion.cards import Card
from companion.models import Attempt, Conversation, Participant, Site, Turn
from companion.participants import add_participant, get_card
from ops.models import Supervision

Result = TypeVar("Result")

_numbers = itertools.count(1)
# One thread owns Django's connection: Django refuses to use it from a running event loop.
THREAD = "database"
_database = ThreadPoolExecutor(1, thread_name_prefix=THREAD)


def in_database(call: Callable[[], Result]) -> Result:
    """Run a call that uses Django's connection, from any thread or event loop. Calls may nest."""
    if threading.current_thread().name.startswith(THREAD):
        return call()
    return _database.submit(_call_and_release, call).result()


def refuse_main_thread(**_: object) -> None:
    """Refuse a connection that would stay open after its test, and break when a later test restarts the database."""
    if threading.current_thread() is threading.main_thread():
        raise RuntimeError("Wrap the call in in_database().")


def _call_and_release(call: Callable[[], Result]) -> Result:
    try:
        return call()
    finally:
        # The pool checks a connection before it hands it out: tests restart the database.
        connection.close()


@dataclass(frozen=True, kw_only=True)
class Person:
    """A participant and the card they hold."""

    row: Participant
    conversation: Conversation
    card: Card

    def sign_in(self, base_url: str) -> str:
        """Type the card's code as a browser does; returns the session cookie's value."""
        # Skip loading certificates for plain HTTP: it takes longer than the request.
        with httpx.Client(base_url=base_url, trust_env=False, verify=False) as browser:
            answer = browser.post("/card/", data={"code": self.card.code}, headers={"Origin": base_url})
            assert answer.status_code == 302, answer.status_code
            return browser.cookies["companion"]

    def turns(self) -> list[Turn]:
        """This person's turns as stored, oldest first."""
        return in_database(lambda: list(Turn.objects.filter(conversation=self.conversation).order_by("id")))


def get_attempts(turn: int) -> list[Attempt]:
    """The calls made for a turn, as stored, in order."""
    return in_database(lambda: list(Attempt.objects.filter(turn_id=turn).order_by("number")))


def finish_visit(base_url: str, cookie: str) -> None:
    """Press *I am finished* in another window of the same browser."""
    with httpx.Client(
        base_url=base_url, cookies={"companion": cookie}, trust_env=False, verify=False
    ) as browser:
        assert browser.get("/chat/").status_code == 200
        form = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        answer = browser.post("/chat/finish/", data=form, headers={"Origin": base_url})
        assert answer.status_code == 302


class People:
    """Two sites that belong to one test, so that tests never see each other's people."""

    def __init__(self) -> None:
        number = next(_numbers)
        self._word = f"{number}-{uuid.uuid4().hex[:6]}"
        self.site = self._add_site("house", f"House {number}")
        self.elsewhere = self._add_site("other", f"Other house {number}")

    def _add_site(self, prefix: str, name: str) -> Site:
        return in_database(
            lambda: Site.objects.create(
                slug=f"{prefix}-{self._word}",
                name=name,
                helpline_voice="0808 157 0123",
                helpline_text="07700 900123",
                helpline_owner="Ines",
                helpline_review_by=date(2099, 12, 31),
            )
        )

    def add_participant(self, name: str = "Rosa", *, site: Site | None = None) -> Person:
        """Add a participant to this test's site, or to the given one."""
        row = in_database(lambda: add_participant(name, site=site or self.site))
        conversation = in_database(lambda: Conversation.objects.get(participant=row))
        return Person(row=row, conversation=conversation, card=get_card(row))

    @property
    def rosa(self) -> Person:
        """A new participant at each access."""
        return self.add_participant("Rosa")

    @property
    def otto(self) -> Person:
        """A stranger: a participant of another site."""
        return self.add_participant("Otto", site=self.elsewhere)

    @property
    def password(self) -> str:
        """The password of every member of staff."""
        return self._word

    def add_sam(self) -> User:
        """Add Rosa's supervisor, who supervises her site only."""
        sam = self._add_staff("sam")
        in_database(lambda: Supervision.objects.create(user=sam, site=self.site))
        return sam

    def add_supervisor(self, name: str, *, site: Site | None = None) -> User:
        """Add a further member of staff, who supervises this test's site, or the given one."""
        user = self._add_staff(name)
        in_database(lambda: Supervision.objects.create(user=user, site=site or self.site))
        return user

    def add_ines(self) -> User:
        """Add an operator, who sees all sites."""
        ines = self._add_staff("ines")
        in_database(lambda: ines.groups.add(Group.objects.get_or_create(name="operators")[0]))
        return ines

    def _add_staff(self, name: str) -> User:
        return in_database(
            lambda: User.objects.create_user(f"{name}-{self._word}", password=self._word, is_staff=True)
        )
