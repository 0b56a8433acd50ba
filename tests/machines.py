"""Shared machines in tests: a browser that is one, as HTTP alone, and the offers of staff."""

from dataclasses import dataclass, field
from datetime import timedelta
from http.cookiejar import CookieJar
from typing import Any
from uuid import UUID

import httpx
from django.db.models import F

from companion.machines.models import Machine, VisitOffer
from companion.machines.offers import OfferMade, OfferRefused, offer_visit
from companion.machines.pairing import PairingRefusal, pair
from companion.machines.registry import SIBLINGS_S
from companion.models import Site, Visit
from companion.supervision.staff import Staff
from tests.people import Person, in_database
from tests.processes import Web

SAM = Staff(user=1, name="Sam")
SCRIPT = {"Accept": "application/json"}


@dataclass(kw_only=True)
class MachineBrowser:
    """A browser that opens the page of a machine. It keeps cookies as a browser does."""

    service: Web
    jar: CookieJar = field(default_factory=CookieJar)

    def get(self, path: str) -> httpx.Response:
        """Load a page."""
        return self._request("GET", path)

    def post(self, path: str, **form: str) -> httpx.Response:
        """Send a form, or what a script sends, from a page of the service."""
        headers = {"Origin": self.service.url, **({} if "code" in form else SCRIPT)}
        return self._request("POST", path, data=form, headers=headers)

    def _request(self, method: str, path: str, **facts: Any) -> httpx.Response:
        with httpx.Client(
            base_url=self.service.url, cookies=self.jar, trust_env=False, verify=False
        ) as client:
            return client.request(method, path, **facts)

    def cookie(self, name: str) -> str:
        """The value of a cookie; empty: it is not there."""
        return next((cookie.value or "" for cookie in self.jar if cookie.name == name), "")

    def show_code(self) -> str:
        """The pairing code on its screen."""
        told = self.post("/machine/code/").json()
        return str(told["code"])

    def claim(self) -> bool:
        """Whether staff have entered the code: then it is a machine from now on."""
        return bool(self.post("/machine/claim/").json()["paired"])

    def look(self) -> str:
        """The text of its page, with a new value of its cookie if some time has passed."""
        return self.get("/machine/").text

    def look_later(self, machine: Machine) -> str:
        """The same some seconds later: its value changes."""
        pass_time(machine)
        return self.look()

    def answer(self, offer: int, answer: str) -> dict[str, Any]:
        """Press *yes* or *no*."""
        told: dict[str, Any] = self.post("/machine/answer/", offer=str(offer), answer=answer).json()
        return told

    def copy(self) -> "MachineBrowser":
        """Another browser with the same cookies as this one has now."""
        other = open_browser(self.service)
        for cookie in self.jar:
            other.jar.set_cookie(cookie)
        return other

    @property
    def session(self) -> str:
        """The participant's session cookie."""
        return self.cookie("companion")


def open_browser(service: Web) -> MachineBrowser:
    """A browser that is no machine yet."""
    return MachineBrowser(service=service)


def add_machine(service: Web, site: Site, name: str = "Front room") -> tuple[MachineBrowser, Machine]:
    """A browser that is a machine of this site, paired by the code on its screen."""
    browser = open_browser(service)
    code = browser.show_code()
    machine = in_database(lambda: pair(code, site=site.pk, name=name, by="Sam"))
    assert not isinstance(machine, PairingRefusal), machine
    assert browser.claim()
    assert "You can talk here." in browser.look()
    return browser, in_database(lambda: Machine.objects.get(pk=machine.pk))


def pass_time(machine: Machine, seconds: float = SIBLINGS_S + 1) -> None:
    """Some time has passed since the machine's cookie got its value."""
    gone = timedelta(seconds=seconds)
    in_database(lambda: Machine.objects.filter(pk=machine.pk).update(rotated_at=F("rotated_at") - gone))


def offer(machine: Machine, person: Person, staff: Staff = SAM) -> int:
    """Staff open a visit for a person on a machine; returns the offer."""
    made = try_offer(machine, person, staff)
    assert isinstance(made, OfferMade), made
    return made.offer


def try_offer(machine: Machine, person: Person, staff: Staff = SAM) -> OfferMade | OfferRefused:
    """The same where it may be refused."""
    return in_database(lambda: offer_visit(machine.pk, person.row.pk, staff, sites={machine.site_id}))


def read_offer(number: int) -> VisitOffer:
    """The offer as stored."""
    return in_database(lambda: VisitOffer.objects.get(pk=number))


def live_visits(person: Person) -> list[Visit]:
    """The visits of a person that have not ended."""
    return in_database(
        lambda: list(Visit.objects.filter(participant=person.row, ended_at=None).order_by("opened_at"))
    )


def last_visit(person: Person) -> Visit:
    """The newest visit of a person."""
    return in_database(lambda: Visit.objects.filter(participant=person.row).latest("opened_at"))


def read_machine(machine: UUID) -> Machine:
    """The machine as stored."""
    return in_database(lambda: Machine.objects.get(pk=machine))
