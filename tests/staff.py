"""Staff sessions without a browser, and the turns they look at."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
from django.contrib.auth.models import User
from django.utils import timezone

from companion.models import Turn
from ops.models import AuditEntry
from tests.page_socket import Page
from tests.people import Person, in_database
from tests.processes import Rehearsal, Web

BEARER = {"Authorization": "Bearer a token for tests"}
"""The token that every web process of the tests is started with."""


@contextmanager
def open_staff_client(service: Web, user: User, password: str) -> Iterator[httpx.Client]:
    """Sign a member of staff in; yields the client, as a browser without JavaScript."""
    with httpx.Client(base_url=service.url, trust_env=False) as desk:
        desk.get("/staff/sign-in/")
        answer = sign_in(desk, user.get_username(), password)
        assert (answer.status_code, answer.headers["location"]) == (302, "/ops/")
        yield desk


def fetch_figures(service: Web) -> dict[str, Any]:
    """Fetch the current figures, as a program with the token does."""
    answer = httpx.get(f"{service.url}/ops/status.json", headers=BEARER, trust_env=False, verify=False)
    answer.raise_for_status()
    figures: dict[str, Any] = answer.json()
    return figures


def sign_in(desk: httpx.Client, name: str, password: str, *, origin: str = "") -> httpx.Response:
    """Submit the sign-in form, with the service's own origin unless `origin` is given."""
    form = {"username": name, "password": password, "csrfmiddlewaretoken": desk.cookies["csrftoken"]}
    headers = {"Origin": origin or str(desk.base_url).rstrip("/")}
    return desk.post("/staff/sign-in/", data=form, headers=headers)


async def play_broken_turn(
    service: Web,
    person: Person,
    rehearsal: Rehearsal,
    *,
    question: str = "What helps against fear?",
    fault: dict[str, Any] | None = None,
) -> Turn:
    """Play a turn into a fault of the provider, by default a cut after some words; returns it as stored."""
    # A slow pace: the last words before a cut may be lost on the way, and some must arrive.
    cut = {"cut": "reset", "after": 5, "pace_ms": 40}
    return await play_turn(service, person, rehearsal, question=question, fault=fault or cut)


async def play_turn(
    service: Web, person: Person, rehearsal: Rehearsal, *, question: str, fault: dict[str, Any] | None = None
) -> Turn:
    """Play a turn to its end over a real socket; returns it as stored."""
    if fault is not None:
        rehearsal.will(fault, times=1)
    async with Page(service.socket_url, person.sign_in(service.url)) as page:
        await page.say(question)
        await page.ending()
    return person.turns()[-1]


def expire_hold(turn: Turn) -> None:
    """Set the hold of this turn's question to have expired a minute ago."""
    past = timezone.now() - timedelta(minutes=1)
    in_database(lambda: Turn.objects.filter(id=turn.pk).update(held_until=past))


def get_audit_entries(person: Person) -> list[AuditEntry]:
    """The audit entries about a person, oldest first."""
    return in_database(lambda: list(AuditEntry.objects.filter(about=person.row.pk).order_by("id")))
