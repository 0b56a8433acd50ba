"""A participant's page in a real browser: what a person does there, and what they see and hear."""

import asyncio
import re
from typing import Any

from playwright.async_api import BrowserContext, ConsoleMessage, Locator, Page, expect

from tests.pages.leaving import LEFT_EARLY
from tests.people import Person

DISCLOSURE = "I am a computer program. I am not a person. Staff here can read what we write."
# Speaks what a screen reader does for a live region: all of it when it is atomic, otherwise what has been added. Like a
# reader it fetches the text some time after it has heard of it.
LISTEN = """() => {
  window.heard = [];
  const region = document.querySelector("[data-status]");
  const role = region.getAttribute("role");
  const atomic = (region.getAttribute("aria-atomic") ?? String(role === "status")) === "true";
  const speak = (node) => setTimeout(() => window.heard.push(node.isConnected ? node.textContent : "(lost)"), 100);
  new MutationObserver((changes) => {
    const added = changes.flatMap((change) => Array.from(change.addedNodes));
    if (atomic && added.length) speak(region);
    else added.forEach(speak);
  }).observe(region, { childList: true, subtree: true });
}"""


class Room:
    """One tab with the chat in it. Keeps every request, complaint and frame of the tab."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page = page
        self.base_url = base_url
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.sent: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self.keep_complaint)
        page.on("websocket", self._watch)

    def keep_complaint(self, message: ConsoleMessage) -> None:
        if LEFT_EARLY not in message.text:
            self.complaints.append(message.text)

    def _watch(self, socket: Any) -> None:
        self.requests.append(socket.url)
        socket.on("framesent", lambda frame: self.sent.append(str(frame)))

    async def enter(self, person: Person) -> "Room":
        """Sign in with the card's code without a page for it, open the chat and wait until the room is there."""
        answer = await self.context.request.post(
            f"{self.base_url}/card/",
            form={"code": person.card.code},
            headers={"Origin": self.base_url},
            max_redirects=0,
        )
        assert answer.status == 302, answer.status
        return await self.go("/chat/")

    async def enter_by_card(self, person: Person) -> "Room":
        """Open the card's link, press its pictures and wait until the room is there."""
        await self.open_card(person)
        return await self.ready()

    async def type_code(self, person: Person) -> None:
        """Type the card's code into the page that asks for it."""
        await self.page.get_by_label("Type the code from your card").fill(person.card.code)
        await self.page.keyboard.press("Enter")

    async def open_card(self, person: Person) -> None:
        """Open the card's link and press its pictures."""
        await self.page.goto(f"{self.base_url}/card/#{person.card.link}")
        await self.press_pictures(*person.card.pictures)

    async def press_pictures(self, *pictures: str) -> None:
        """Press these pictures of a card, one after the other."""
        for picture in pictures:
            await self.page.get_by_role("button", name=picture.capitalize(), exact=True).click()

    async def ready(self) -> "Room":
        """Wait until the service has said whose room this is; from here on, listen as a screen reader does."""
        await expect(self.greeting.or_(self.earlier).first).to_be_visible()
        await self.page.evaluate(LISTEN)
        return self

    @property
    def greeting(self) -> Locator:
        return self.page.locator("[data-greeting]")

    @property
    def earlier(self) -> Locator:
        return self.page.get_by_role("button", name="Show what we said before")

    @property
    def box(self) -> Locator:
        return self.page.get_by_role("textbox", name=re.compile("^Write to "))

    @property
    def send(self) -> Locator:
        return self.page.get_by_role("button", name="Send", exact=True)

    @property
    def stop(self) -> Locator:
        return self.page.get_by_role("button", name="Stop", exact=True)

    @property
    def finished(self) -> Locator:
        return self.page.get_by_role("button", name="I am finished")

    @property
    def leave_now(self) -> Locator:
        """The quick exit."""
        return self.page.get_by_role("button", name="Leave now")

    @property
    def idle_warning(self) -> Locator:
        return self.page.locator("[data-idle]")

    @property
    def entries(self) -> Locator:
        """What stands beside the turns: words of a person, and drafted lines about who is there."""
        return self.page.locator("[data-turns] > [data-entry]")

    @property
    def talk_to_a_person(self) -> Locator:
        return self.page.get_by_role("button", name="Talk to a person")

    @property
    def help_line(self) -> Locator:
        return self.page.locator("[data-help-line]")

    @property
    def recipient(self) -> Locator:
        """The line over the box that says who reads what is written."""
        return self.page.locator("[data-recipient]")

    @property
    def turns(self) -> Locator:
        return self.page.locator("[data-turns] > [data-turn]")

    @property
    def away(self) -> Locator:
        return self.page.locator("[data-away]")

    @property
    def problem(self) -> Locator:
        return self.page.locator("[data-problem]")

    def question(self, turn: Locator) -> Locator:
        return turn.locator("[data-part=question]")

    def reply(self, turn: Locator) -> Locator:
        return turn.locator("[data-part=reply]")

    def line(self, turn: Locator) -> Locator:
        return turn.locator("[data-part=line]")

    async def say(self, text: str) -> Locator:
        """Write and press Enter; returns the turn, once it is there."""
        count = await self.turns.count()
        await self.box.fill(text)
        await self.box.press("Enter")
        turn = self.turns.nth(count)
        await expect(turn).to_be_visible()
        return turn

    async def becomes(self, turn: Locator, state: str, within_s: float = 20) -> Locator:
        """Wait until a turn is in a state."""
        await expect(turn).to_have_attribute("data-state", re.compile(state), timeout=within_s * 1000)
        return turn

    async def ask(self, text: str, state: str = "complete") -> Locator:
        """Say something and wait for the end of the reply."""
        return await self.becomes(await self.say(text), state)

    async def until(self, expression: str, argument: Any = None) -> None:
        """Wait until this is true on the page. The library's own wait asks by `eval`, which our policy forbids."""
        async with asyncio.timeout(20):
            while not await self.page.evaluate(expression, argument):  # noqa: ASYNC110  (a page sets no event of ours)
                await asyncio.sleep(0.02)

    async def text_of(self, place: Locator) -> str:
        """The text of a place, paragraphs parted by blank lines."""
        return "\n\n".join(await place.locator("p").all_text_contents())

    async def read_announcements(self) -> list[str]:
        """What a screen reader was told since the room was ready, but for the disclosure beside a first turn."""
        heard: list[str] = await self.page.evaluate("window.heard")
        return [line for line in heard if line != DISCLOSURE]

    async def hears(self, *expected: str) -> None:
        """Wait until a screen reader has been told all of this, and check that it was nothing else."""
        deadline = asyncio.get_running_loop().time() + 10
        while (heard := await self.read_announcements()) != list(expected):
            assert asyncio.get_running_loop().time() < deadline, heard
            assert heard == list(expected)[: len(heard)], heard
            await asyncio.sleep(0.02)

    async def whole_text(self) -> str:
        """Every text and every typed word in the page, seen or not."""
        text: str = await self.page.evaluate(
            """() => document.documentElement.textContent
              + Array.from(document.querySelectorAll("input, textarea"), (box) => box.value).join(" ")"""
        )
        return text

    async def another_tab(self) -> "Room":
        """The same person in a second tab of the same browser."""
        return await Room(await self.context.new_page(), self.base_url).go("/chat/")

    async def go(self, path: str) -> "Room":
        """Open a page of the service in this tab, as if typed."""
        await self.page.goto(f"{self.base_url}{path}")
        return await self.ready()

    async def go_to(self, path: str) -> None:
        """Open a page of the service that is not the room."""
        await self.page.goto(f"{self.base_url}{path}")

    async def back(self) -> None:
        """Press Back, and wait until something is there: another page, or the same one anew."""
        async with self.page.expect_event("framenavigated"):
            # From a timer, because the answer to the call itself would be lost with the page.
            await self.page.evaluate("() => { setTimeout(() => history.back()); }")

    async def stop_clock(self) -> None:
        """Let the page's clock, once it is installed, go on only when it is turned."""
        # The clock takes Unix time in seconds.
        await self.page.clock.pause_at(await self.page.evaluate("Date.now() / 1_000") + 1)

    @property
    def context(self) -> BrowserContext:
        return self.page.context
