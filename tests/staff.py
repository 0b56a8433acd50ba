"""Signed-in staff without a browser, and the turns they look at."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from companion.models import Flag, Turn
from companion.sessions import SessionStore
from ops.models import AuditEntry
from tests.page_socket import Page
from tests.people import Person, in_database
from tests.processes import Rehearsal, Web

BEARER = {"Authorization": "Bearer a token for tests"}
"""Of the token that every web process of these tests is started with."""


@contextmanager
def open_staff_client(service: Web, user: User, password: str) -> Iterator[httpx.Client]:
    """A signed-in member of staff, as a browser without JavaScript has it."""
    with httpx.Client(base_url=service.url, trust_env=False, verify=False) as staff_client:
        staff_client.get("/staff/sign-in/")
        answer = sign_in(staff_client, user.get_username(), password)
        assert answer.status_code == 302 and answer.headers["location"] in ("/ops/", "/ops/people/")
        yield staff_client


def open_staff_session(user: User) -> str:
    """Open a session of this member of staff without the form and its entry in the audit; returns the cookie."""

    def open_session() -> str:
        request = HttpRequest()
        request.session = SessionStore()
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        request.session.save()
        assert request.session.session_key is not None
        return request.session.session_key

    return in_database(open_session)


def figures(service: Web) -> dict[str, Any]:
    """The figures of the moment, as a program with the token reads them."""
    answer = httpx.get(f"{service.url}/ops/status.json", headers=BEARER, trust_env=False, verify=False)
    answer.raise_for_status()
    told: dict[str, Any] = answer.json()
    return told


def sign_in(staff_client: httpx.Client, name: str, password: str, *, origin: str = "") -> httpx.Response:
    """Fill in the form and send it, from a page of the service itself unless `origin` says otherwise."""
    [token] = [cookie.value for cookie in staff_client.cookies.jar if "csrftoken" in cookie.name]
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
    headers = {"Origin": origin or str(staff_client.base_url).rstrip("/")}
    return staff_client.post("/staff/sign-in/", data=form, headers=headers)


async def play_broken_turn(
    service: Web,
    person: Person,
    rehearsal: Rehearsal,
    *,
    question: str = "What helps against fear?",
    fault: dict[str, Any] | None = None,
) -> Turn:
    """A turn of this person that met a fault of the provider (by default a cut after some words), as stored."""
    # Slowly, because the last words before a cut may be lost on the way, and there must be some.
    cut = {"cut": "reset", "after": 5, "pace_ms": 40}
    return await play_turn(service, person, rehearsal, question=question, fault=fault or cut)


async def play_turn(
    service: Web, person: Person, rehearsal: Rehearsal, *, question: str, fault: dict[str, Any] | None = None
) -> Turn:
    """A turn of this person, played to its end over a real socket, as stored."""
    if fault is not None:
        rehearsal.inject(fault, times=1)
    async with Page(service.socket_url, person.sign_in(service.url)) as page:
        await page.say(question)
        await page.ending()
    return person.turns()[-1]


def store_flag(person: Person, **fields: Any) -> Flag:
    """A flag about this person: red, and raised by the button, unless `fields` say otherwise."""
    facts = {"tier": "red", "kind": "help", "source": "button", **fields}
    return in_database(
        lambda: Flag.objects.create(
            conversation=person.conversation, participant=person.row.pk, site=person.row.site, **facts
        )
    )


def expire_hold(turn: Turn) -> None:
    """The hold of this turn's question ran out a minute ago."""
    past = timezone.now() - timedelta(minutes=1)
    in_database(lambda: Turn.objects.filter(id=turn.pk).update(held_until=past))


def get_audit_entries(person: Person) -> list[AuditEntry]:
    """What is on record about a person, oldest first."""
    return in_database(lambda: list(AuditEntry.objects.filter(about=person.row.pk).order_by("id")))


def last_entry() -> tuple[str, str, int | None, str]:
    """Who did what about whom, with the note: the newest entry of the record."""
    entry = in_database(lambda: AuditEntry.objects.order_by("-id").first())
    assert entry is not None
    return entry.who, entry.what, entry.about, entry.note


def list_recorded(person: Person) -> list[str]:
    """What was done about a person, as the record names it, oldest first."""
    return [entry.what for entry in get_audit_entries(person)]
