"""The page that stands while the service cannot: quiet, readable for everyone, and gone by itself afterwards."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.async_api import Browser, Page

from ops.stack.doors import Door, open_doors
from tests.pages.axe import find_violations

LONGEST_WAIT_MS = 22_500


class Recovered(http.server.BaseHTTPRequestHandler):
    """A service that has come back, as far as this page can tell."""

    def do_GET(self) -> None:
        body = f"<!doctype html><html lang=en><title>Back</title><p>{self.path}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None: ...


@pytest.fixture
def door() -> Iterator[Door]:
    with open_doors([0]) as doors:
        doors[0].port = doors[0].socket.getsockname()[1]
        doors[0].say_unavailable()
        yield doors[0]


@contextmanager
def service_is_back(door: Door) -> Iterator[None]:
    door.hand_over()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recovered, bind_and_activate=False)
    own, server.socket = server.socket, door.socket
    own.close()
    answering = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    answering.start()
    try:
        yield
    finally:
        server.shutdown()
        answering.join()


async def opened(browser: Browser, door: Door, **context: object) -> Page:
    page = await (await browser.new_context(**context)).new_page()  # type: ignore[arg-type]
    await page.clock.install()
    await page.goto(f"{door.address}/card/abc-def/")
    return page


async def test_it_stays_as_it_is_while_nothing_changes(browser: Browser, door: Door) -> None:
    page = await opened(browser, door)
    await page.evaluate("window.untouched = true")

    async with page.expect_response("**/healthz") as looked:
        await page.clock.fast_forward(LONGEST_WAIT_MS)

    assert (await looked.value).status == 503
    assert await page.evaluate("window.untouched")
    await page.context.close()


async def test_it_gives_way_to_the_page_that_was_asked_for_once_the_service_is_back(
    browser: Browser, door: Door
) -> None:
    page = await opened(browser, door)
    with service_is_back(door):
        await page.clock.fast_forward(LONGEST_WAIT_MS)

        await page.get_by_text("/card/abc-def/").wait_for()

    await page.context.close()


async def test_it_is_readable_for_everyone(browser: Browser, door: Door) -> None:
    page = await opened(browser, door, reduced_motion="reduce")

    for width in (320, 1280):
        await page.set_viewport_size({"width": width, "height": 640})
        await page.emulate_media(color_scheme="light")
        assert await find_violations(page) == [], width
        await page.emulate_media(color_scheme="dark")
        assert await find_violations(page) == [], width
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
    await page.context.close()
