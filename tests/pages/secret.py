"""What must leave a page: a secret that was told, and a draft of it."""

from playwright.async_api import Page

from tests.pages.room import Room
from tests.people import Person

SECRET = "My secret is a blue door."
DRAFT = "A draft about a blue door."


async def tell_secret(room: Room, person: Person) -> Room:
    """Enter, tell the secret, and leave a draft of more in the box."""
    await room.enter(person)
    await room.ask(SECRET)
    await room.box.fill(DRAFT)
    return room


async def sees_nothing(page: Page) -> None:
    """Assert that nothing of it is on the page, in its boxes, its title, its address or its state."""
    text = await page.evaluate(
        """() => document.title + location.href + JSON.stringify(history.state) + document.documentElement.textContent
          + Array.from(document.querySelectorAll("input, textarea"), (box) => box.value).join(" ")"""
    )
    assert "blue door" not in text
