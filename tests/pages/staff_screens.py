"""Screens of staff in a browser: each a member of staff in a profile of their own."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from playwright.async_api import Browser, Locator, Page, expect

from tests.desk_socket import sign_staff_in
from tests.pages.leaving import close_in_time
from tests.people import People, Person, in_database
from tests.processes import Web

DANGER = "I am going to kill myself tonight."
DESKTOP: dict[str, Any] = {"viewport": {"width": 1200, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
SIDEWAYS: dict[str, Any] = {"viewport": {"width": 640, "height": 320}, "has_touch": True, "is_mobile": True}
ZOOMED: dict[str, Any] = {"viewport": {"width": 320, "height": 256}}


OpenDesk = Callable[..., Awaitable["Screen"]]


@dataclass(kw_only=True)
class Screen:
    """One screen of a member of staff."""

    page: Page
    user: User

    async def go(self, path: str) -> "Screen":
        """Open a page for staff, and wait until its scripts are connected."""
        await self.page.goto(path)
        await expect(self.page.locator("[data-bell]")).to_have_attribute("data-connected", "")
        return self

    async def open(self, person: Person) -> "Screen":
        """Open the page of a person."""
        return await self.go(page_of(person))

    @property
    def ringing(self) -> Locator:
        return self.page.locator("[data-bell-flags] > [data-flag][data-state=open]")

    @property
    def fold(self) -> Locator:
        """The one line of the bell on a small screen."""
        return self.page.locator("[data-bell-fold]")

    @property
    def words(self) -> Locator:
        return self.page.get_by_label(re.compile("^Write as"))

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def take_over(self) -> None:
        """Take over, and wait until it is so."""
        await self.button("Take over").click()
        await self.page.get_by_role("button", name=re.compile("^Take over as")).click()
        await expect(self.words).to_be_focused()


def page_of(person: Person) -> str:
    return f"/ops/people/{person.conversation.pk}/"


@asynccontextmanager
async def open_screens(browser: Browser, service: Web, people: People) -> AsyncIterator[OpenDesk]:
    screens: list[Page] = []
    complaints: list[str] = []

    async def open_screen(name: str = "sam", *, base_url: str = service.url, **profile: Any) -> Screen:
        user = in_database(lambda: people.add_supervisor(name))
        context = await browser.new_context(base_url=base_url, **(profile or DESKTOP))
        cookie = await asyncio.to_thread(sign_staff_in, service, people, user)
        await context.add_cookies([{"name": "companion", "value": cookie, "url": base_url}])
        page = await context.new_page()
        screens.append(page)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return Screen(page=page, user=user)

    yield open_screen
    for page in screens:
        await close_in_time(page.context.close())
    assert complaints == []
