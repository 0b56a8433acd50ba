"""Real browsers for the page tests: Debian's Chromium, whole with its back/forward cache on, or without windows."""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Playwright, async_playwright, expect

from tests.pages.door import Door, door_to
from tests.pages.leaving import close_in_time
from tests.pages.room import Room
from tests.pages.staff_screens import OpenDesk, open_screens
from tests.people import People
from tests.processes import Web

CHROMIUM = "/usr/bin/chromium"
WINDOWLESS = "/usr/bin/chromium-headless-shell"
"""The same release of Chromium without windows, history and back/forward cache: a page costs half as much."""
WITHOUT_SCREEN = "--headless=new"
ARGUMENTS = [
    WITHOUT_SCREEN,
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Chromium loads the popup of its address bar as a page with each window, and starts a process in reserve. No test sees
# either, and both cost more than a page of ours. The switch replaces Playwright's, so its features are repeated first.
DISABLED_FEATURES = [
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "SpareRendererForSitePerProcess",
    # A page that a test answers instead of the service comes from no network, and could open no socket to this machine.
    "LocalNetworkAccessChecks",
    "LocalNetworkAccessChecksWebSockets",
]
ARGUMENTS.append(f"--disable-features={','.join(DISABLED_FEATURES)}")
# Playwright switches the cache off that a shared machine has on.
LEFT_ON = ["--disable-back-forward-cache"]

if not os.path.exists(CHROMIUM):
    raise RuntimeError(
        "There is no Chromium, and the page tests mean nothing without one: apt-get install chromium"
    )

# Bounds a wait and promises nothing: Playwright waits for 5 s, which a busy machine can take for one page.
expect.set_options(timeout=10_000)

OpenRoom = Callable[..., Awaitable[Room]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of a browser share one event loop, because they share one."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def playwright() -> AsyncIterator[Playwright]:
    async with async_playwright() as playwright:
        yield playwright


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def whole_browser(playwright: Playwright) -> AsyncIterator[Browser]:
    """The browser that people have, for tests that go back, leave, or look at what it keeps."""
    browser = await playwright.chromium.launch(
        executable_path=CHROMIUM, args=ARGUMENTS, ignore_default_args=LEFT_ON
    )
    yield browser
    await close_in_time(browser.close())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def windowless_browser(playwright: Playwright) -> AsyncIterator[Browser]:
    """What draws pages and runs their scripts in that browser, alone."""
    browser = await playwright.chromium.launch(
        executable_path=WINDOWLESS, args=[one for one in ARGUMENTS if one != WITHOUT_SCREEN]
    )
    yield browser
    await close_in_time(browser.close())


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Browser:
    """The browser of a page test: the whole one where it is marked `whole_browser` or there is no other."""
    is_whole = request.node.get_closest_marker("whole_browser") or not os.path.exists(WINDOWLESS)
    found: Browser = request.getfixturevalue("whole_browser" if is_whole else "windowless_browser")
    return found


@pytest_asyncio.fixture(loop_scope="session")
async def open_room(browser: Browser, service: Web) -> AsyncIterator[OpenRoom]:
    """Open a tab in a browser profile of its own. No page may complain in its console unless a test says so."""
    opened: list[Room] = []

    async def open_room(base_url: str = service.url, **profile: Any) -> Room:
        context = await browser.new_context(**profile)
        room = Room(await context.new_page(), base_url)
        opened.append(room)
        return room

    yield open_room
    complaints = [complaint for room in opened for complaint in room.complaints]
    for room in opened:
        await close_in_time(room.context.close())
    assert not complaints, complaints


@pytest_asyncio.fixture(loop_scope="session")
async def door(service: Web) -> AsyncIterator[Door]:
    """A door to the service that a test may shut."""
    async with door_to(service.port) as door:
        yield door
    await asyncio.sleep(0)


@pytest_asyncio.fixture(loop_scope="session")
async def open_desk(browser: Browser, service: Web, people: People) -> AsyncIterator[OpenDesk]:
    """Open a screen of a supervisor of this test's site, in a browser profile of its own."""
    async with open_screens(browser, service, people) as opener:
        yield opener
