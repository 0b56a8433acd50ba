"""Answers to the last request of a page that confirm nothing, in place of those of the service."""

import json
from collections import defaultdict
from typing import Any

from playwright.async_api import Page, Route

from tests.pages.room import Room
from tests.patience import until

REPEATED = json.dumps(
    {
        "ended": "00000000-0000-4000-8000-000000000000",
        "locked": "00000000-0000-4000-8000-000000000000",
    }
)
ANSWERS: dict[str, dict[str, Any] | None] = {
    "403": {"status": 403, "body": "Forbidden"},
    "401 of a proxy": {"status": 401, "headers": {"WWW-Authenticate": "Negotiate"}},
    "404": {"status": 404, "body": "Not found"},
    "429": {"status": 429, "body": "Slow down"},
    "302": {"status": 302, "headers": {"Location": "/finished/"}},
    "an empty 200": {"status": 200, "body": ""},
    "a sign-in page of a network": {"status": 200, "content_type": "text/html", "body": "<h1>Wi-Fi</h1>"},
    "an answer to another page": {"status": 200, "content_type": "application/json", "body": REPEATED},
    "no network": None,
}
"""None: the request is aborted."""


class WrongAnswers:
    """Gives each tab every answer in turn at one address, and then the last again and again."""

    def __init__(self, path: str) -> None:
        self._address = f"**{path}"
        self._given: defaultdict[Page, list[str]] = defaultdict(list)

    async def give(self, *tabs: Room) -> None:
        """Answer these tabs of one browser from now on. Each try of theirs follows after half a second."""
        for tab in tabs:
            await tab.page.evaluate(
                "() => { let tries = 0; Math.random = () => Math.max(0.05, 0.5 ** tries++); }"
            )
        await tabs[0].context.route(self._address, self._answer)

    async def until_all_given(self, tab: Room) -> None:
        """Wait until the tab has had every answer."""
        await until(lambda: set(self._given[tab.page]) == set(ANSWERS), within_s=40)

    async def leave(self, tab: Room) -> None:
        """Let the service answer the tabs of this browser again."""
        await tab.context.unroute(self._address)

    async def _answer(self, route: Route) -> None:
        given = self._given[route.request.frame.page]
        given.append(list(ANSWERS)[min(len(given), len(ANSWERS) - 1)])
        answer = ANSWERS[given[-1]]
        await (route.abort() if answer is None else route.fulfill(**answer))
