"""Debian's Firefox, driven over WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), which it speaks by itself.

Playwright's own Firefox is not the one that people have, and Playwright cannot drive that one yet.
"""

import asyncio
import itertools
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.patience import POLL_S, until

FIREFOX = "/usr/bin/firefox-esr"
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
START_S, ANSWER_S, EXPECT_S, CLOSE_S = 60, 30, 10, 20
"""Bounds of waits, in seconds; none of them is a promise."""
ENTER = "\ue007"
PREFERENCES = {
    "browser.startup.page": 0,
    "browser.aboutwelcome.enabled": False,
    "app.update.auto": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
"""A first start opens pages of its maker, and asks the network for more."""


class Firefox:
    """One running Firefox."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._connection:
            answer = json.loads(message)
            waiting = self._answers.pop(answer.get("id"), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its result. AssertionError: Firefox answers with an error."""
        number = next(self._ids)
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        answer = await asyncio.wait_for(self._answers[number], ANSWER_S)
        assert answer["type"] == "success", (method, answer)
        result: dict[str, Any] = answer["result"]
        return result

    @asynccontextmanager
    async def open_profile(self) -> AsyncIterator["Tab"]:
        """Open a tab that shares no cookies, storage or cache with others; close it with all that it opened."""
        profile = (await self.send("browser.createUserContext"))["userContext"]
        made = await self.send("browsingContext.create", type="tab", userContext=profile)
        try:
            yield Tab(self, made["context"], profile)
        finally:
            await self.send("browser.removeUserContext", userContext=profile)

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)


class Tab:
    """One tab. Elements are found as assistive technology finds them: by role and name."""

    def __init__(self, firefox: Firefox, context: str, profile: str) -> None:
        self._firefox = firefox
        self._context = context
        self._profile = profile

    async def open_another(self) -> "Tab":
        """Open a further tab of the same profile."""
        made = await self._firefox.send("browsingContext.create", type="tab", userContext=self._profile)
        return Tab(self._firefox, made["context"], self._profile)

    async def go(self, url: str) -> None:
        await self._firefox.send("browsingContext.navigate", context=self._context, url=url, wait="complete")

    async def go_back(self) -> None:
        await self._firefox.send("browsingContext.traverseHistory", context=self._context, delta=-1)

    async def reload(self) -> None:
        await self._firefox.send("browsingContext.reload", context=self._context, wait="complete")

    async def evaluate(self, expression: str) -> Any:
        """Return a string, a number or a boolean that an expression gives in the page."""
        answer = await self._firefox.send(
            "script.evaluate", expression=expression, target={"context": self._context}, awaitPromise=True
        )
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    async def text(self) -> str:
        """What a person can read on the page."""
        return str(await self.evaluate("document.body ? document.body.innerText : ''"))

    async def expect(self, condition: str) -> None:
        """Wait until an expression is true in the page, also over a change of page."""

        async with asyncio.timeout(EXPECT_S):
            while not await self._holds(condition):  # noqa: ASYNC110  (the page cannot set an event here)
                await asyncio.sleep(POLL_S)

    async def _holds(self, condition: str) -> bool:
        try:
            return bool(await self.evaluate(condition))
        except AssertionError:
            # The page changed meanwhile.
            return False

    async def expect_text(self, text: str) -> None:
        await self.expect(f"document.body?.innerText.includes({json.dumps(text)})")

    async def find(self, role: str, name: str) -> dict[str, str]:
        """Wait for a visible element of this role and name."""
        locator = {"type": "accessibility", "value": {"role": role, "name": name}}
        async with asyncio.timeout(EXPECT_S):
            while True:
                answer = await self._firefox.send(
                    "browsingContext.locateNodes", context=self._context, locator=locator
                )
                if answer["nodes"]:
                    return {"sharedId": answer["nodes"][0]["sharedId"]}
                await asyncio.sleep(POLL_S)

    async def press(self, role: str, name: str) -> None:
        """Press an element with the pointer, in its middle."""
        element = await self.find(role, name)
        await self._call("(element) => element.scrollIntoView({block: 'nearest'})", element)
        origin = {"type": "element", "element": element}
        acts = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        await self._perform({"type": "pointer", "id": "pointer", "actions": acts})

    async def type(self, text: str) -> None:
        """Type on the keyboard, to whatever has the focus."""
        keys = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        await self._perform({"type": "key", "id": "keyboard", "actions": keys})

    async def write(self, name: str, text: str) -> None:
        """Write into the box of this name, and send it with Enter."""
        await self._call("(element) => element.focus()", await self.find("textbox", name))
        await self.type(text + ENTER)

    async def _call(self, function: str, element: dict[str, str]) -> None:
        await self._firefox.send(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[element],
            target={"context": self._context},
            awaitPromise=False,
        )

    async def _perform(self, *actions: dict[str, Any]) -> None:
        await self._firefox.send("input.performActions", context=self._context, actions=list(actions))


@asynccontextmanager
async def run_firefox(folder: Path) -> AsyncIterator[Firefox]:
    """Start Firefox with a new profile in `folder`, its back/forward cache on as people have it; stop it afterwards."""
    profile, log = folder / "profile", folder / "log"
    profile.mkdir(parents=True)
    profile.joinpath("user.js").write_text(
        "".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()
        )
    )
    command = [
        FIREFOX,
        "--headless",
        "--no-remote",
        "--profile",
        str(profile),
        "--remote-debugging-port=0",
        "about:blank",
    ]
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=out, stderr=out, env=os.environ | {"HOME": str(folder)}
        )
    try:
        await until(lambda: LISTENING.search(log.read_text(errors="replace")) is not None, within_s=START_S)
        found = LISTENING.search(log.read_text(errors="replace"))
        assert found is not None
        async with connect(f"{found[1]}/session", max_size=None, proxy=None) as connection:
            firefox = Firefox(connection)
            await firefox.send("session.new", capabilities={})
            try:
                yield firefox
            finally:
                await firefox.close()
    finally:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), CLOSE_S)
        except TimeoutError:
            process.kill()
            await process.wait()
