"""Whole visits, and whole hours of staff, with the keyboard alone; every stop on the way is seen (A3)."""

from playwright.async_api import Locator, Page, expect

from tests.machines import live_visits, offer
from tests.pages.conftest import OpenRoom
from tests.pages.machine_screens import open_machine, question, yes
from tests.pages.staff_screens import OpenDesk
from tests.people import People, in_database
from tests.staff import store_flag

HAS_FOCUS = "(node) => node === document.activeElement"
OUTLINED = """() => {
  const node = document.activeElement;
  return [node, node.closest("li")].some((one) => one && getComputedStyle(one).outlineStyle === "solid");
}"""
MOST_STOPS = 60


async def tab_to(page: Page, target: Locator, *, backwards: bool = False) -> None:
    """Walk on by the Tab key to a target, which must be seen to have the focus."""
    await expect(target).to_be_visible()
    for _ in range(MOST_STOPS):
        if await target.evaluate(HAS_FOCUS):
            assert await page.evaluate(OUTLINED), await target.inner_text()
            return
        await page.keyboard.press("Shift+Tab" if backwards else "Tab")
    raise AssertionError("the Tab key never led there")


async def press(page: Page, name: str, key: str = "Enter") -> None:
    """Walk to the button of this name and press it by a key."""
    await tab_to(page, page.get_by_role("button", name=name, exact=True))
    await page.keyboard.press(key)


async def test_a_visit_from_the_question_of_the_machine_over_needs_and_the_lock_to_leaving_at_once(
    open_room: OpenRoom, people: People
) -> None:
    room, machine = await open_machine(open_room, people)
    rosa, page = people.rosa, room.page
    offer(machine, rosa)
    await expect(question(page)).to_be_visible()
    # A question takes no press in its first moment: the press may have been meant for another.
    await expect(yes(page)).to_be_enabled()
    await press(page, "Yes, this is me")
    await room.ready()

    await tab_to(page, room.box)
    await page.keyboard.type("Good morning.")
    await page.keyboard.press("Enter")
    await room.becomes(room.turns.first, "complete")
    await tab_to(page, page.get_by_role("link", name="Make this easier"), backwards=True)
    await page.keyboard.press("Enter")
    async with page.expect_response("**/needs/"):
        await press(page, "Strong colours", "Space")
    await room.until("document.documentElement.dataset.contrast === 'strong'")
    await tab_to(page, page.get_by_role("link", name="Back to the chat").last)
    await page.keyboard.press("Enter")
    await room.ready()
    await expect(room.box).to_be_focused()

    await page.keyboard.type("I was about to")
    await room.context.request.post(f"{room.base_url}/chat/lock/", headers={"Origin": room.base_url})
    await page.wait_for_url("**/locked/**")
    field = page.get_by_label("Type the code from your card")
    await tab_to(page, field)
    await page.keyboard.type(rosa.card.code)
    await page.keyboard.press("Enter")
    await room.ready()
    await expect(room.turns).to_have_count(1)
    await expect(room.box).to_have_value("I was about to")

    await tab_to(page, room.leave_now)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/empty/**")
    assert live_visits(rosa) == []


async def test_a_locked_page_is_opened_again_by_the_pictures_of_the_card(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter_by_card(rosa)
    await room.context.request.post(f"{room.base_url}/chat/lock/", headers={"Origin": room.base_url})
    await room.page.wait_for_url("**/locked/**")

    for picture in rosa.card.pictures:
        await press(room.page, picture.capitalize(), "Space")

    await room.ready()


async def test_staff_accept_take_over_write_and_hand_back(
    open_desk: OpenDesk, open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    flag = store_flag(rosa)
    room = await (await open_room()).enter(rosa)
    sam = await (await open_desk()).open(rosa)
    page = sam.page
    keys = page.keyboard

    await tab_to(page, page.locator("[data-bell]").get_by_role("button", name="Accept"))
    await keys.press("Enter")
    await expect(sam.ringing).to_have_count(0)
    in_database(flag.refresh_from_db)
    assert flag.state == "accepted"
    await press(page, "Take over")
    await tab_to(page, page.get_by_role("button", name="Take over as"))
    await keys.press("Enter")
    await expect(sam.words).to_be_focused()
    await keys.type("Good day, Rosa.")
    await keys.press("Enter")
    await expect(room.entries.last).to_contain_text("Good day, Rosa.")
    await expect(sam.words).to_have_value("")
    await press(page, "Hand back")

    await expect(sam.button("Take over")).to_be_focused()
    await expect(room.entries.last).to_contain_text("has left the chat")
