"""WCAG 2.2 AA in every state, keyboard only, narrow, zoomed, spaced out, still, and in forced colours (A3)."""

from typing import Literal

from playwright.async_api import Locator, ViewportSize, expect

from tests.pages.axe import find_violations
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import Script, snapshot
from tests.people import People, Person

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenrente" * 2
SPACED = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets = [sheet];
}"""
CUT_OFF = """() => Array.from(document.querySelectorAll("button:not([hidden]), p, h1, h2, label"))
  .filter((node) => node.checkVisibility() && !node.closest(".visually-hidden"))
  .filter((node) => node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0)
  .map((node) => node.outerHTML)"""
# 400 % of a window of 1280 by 1024 is a window of 320 by 256.
NARROW: list[ViewportSize] = [{"width": 320, "height": 568}, {"width": 320, "height": 256}]
SCHEMES: list[Literal["light", "dark"]] = ["light", "dark"]
TOO_SMALL = """() => Array.from(document.querySelectorAll("a, button, input, textarea"))
  .filter((node) => node.checkVisibility() && !node.closest(".visually-hidden") && node.type !== "hidden")
  .filter((node) => node.getBoundingClientRect().height < 44 || node.getBoundingClientRect().width < 44)
  .map((node) => node.outerHTML)"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def violations(room: Room) -> list[str]:
    return await find_violations(room.page, rules=RULES)


async def full(room: Room, rosa: Person) -> Script:
    """Every state a turn can be in, at once."""
    opening = {"kind": "i_am_back", "line": "I am back. First, what you asked me before."}
    turns = [
        snapshot(1, question=LONG_WORD, reply=LONG_WORD),
        snapshot(2, state="stopped", line="I have stopped."),
        snapshot(3, state="paused", reply="", line="I have to stop for a little while."),
        snapshot(4, state="refused", reply="", line="Please try again a bit later."),
        snapshot(5, openings=[opening]),
        snapshot(6, state="speaking", reply="Half a sen", seq=2),
        snapshot(7, state="waiting", reply="", line="I will come to you in a moment."),
    ]
    return await Script.behind(room, rosa, turns)


async def signed_out(room: Room, rosa: Person) -> None:
    script = await full(room, rosa)
    await script.close(4401)
    await expect(room.page.get_by_text("You are signed out.")).to_be_visible()


async def code_refused(room: Room, rosa: Person) -> None:
    await room.go_to("/card/")
    await room.page.get_by_label("Type the code").fill("abc")
    await room.page.get_by_role("button", name="Come in").click()
    await expect(room.page.get_by_text("does not work here")).to_be_visible()
    room.complaints.clear()


async def card_unknown(room: Room, rosa: Person) -> None:
    await room.go_to("/card/abc/")
    room.complaints.clear()


async def ended_here(room: Room, rosa: Person) -> None:
    await Script.behind(room, rosa)
    # The service does not answer, so the page goes on by itself.
    await room.page.route("**/chat/finish/", lambda route: None)
    await room.finished.click()
    await expect(room.page.get_by_text("This chat is closing now.")).to_be_visible()


async def nothing_here(room: Room, rosa: Person) -> None:
    await room.go_to("/nothing/here/")
    room.complaints.clear()


async def goodbye(room: Room, rosa: Person) -> None:
    await room.go_to("/finished/")


async def test_the_whole_way_is_walked_with_the_keyboard_alone(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await open_room()
    keys = room.page.keyboard
    await room.go_to("/")
    await _tab_to(room, room.page.get_by_label("Type the code from your card"))
    await keys.type(rosa.card.code)
    await keys.press("Enter")
    await room.ready()

    await _tab_to(room, room.box)
    await keys.type("Good morning.")
    await keys.press("Enter")
    await room.becomes(room.turns.first, "complete")
    await keys.type("And again.")
    await _tab_to(room, room.send)
    await keys.press("Enter")
    await room.becomes(room.turns.nth(1), "complete")
    await _tab_to(room, room.finished, backwards=True)
    await keys.press("Enter")

    await room.page.wait_for_url("**/finished/")


async def _tab_to(room: Room, target: Locator, *, backwards: bool = False) -> None:
    """Walk on by the Tab key; every stop on the way must be seen to have the focus."""
    for _ in range(12):
        await room.page.keyboard.press("Shift+Tab" if backwards else "Tab")
        outline = await room.page.evaluate(
            """() => document.activeElement === document.body
              ? "none" : getComputedStyle(document.activeElement).outlineStyle"""
        )
        if await target.evaluate("(node) => node === document.activeElement"):
            assert outline == "solid"
            return
    raise AssertionError("the Tab key never led there")


async def test_what_has_the_focus_is_never_under_the_header_or_the_composer(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 1280, "height": 720})
    turns = [snapshot(id) for id in range(100, 150)]
    await Script.behind(room, people.rosa, turns)
    await room.page.evaluate("scrollTo(0, 0)")

    await _tab_to(room, room.earlier)

    assert await room.earlier.evaluate(
        """(button) => {
          const box = button.getBoundingClientRect();
          return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === button;
        }"""
    )


async def test_everything_to_press_is_at_least_44_pixels_high(open_room: OpenRoom, people: People) -> None:
    room = await open_room(viewport={"width": 320, "height": 568})
    await full(room, people.rosa)

    for target in (room.send, room.stop, room.finished, room.box):
        box = await target.bounding_box()
        assert box is not None and box["height"] >= 44 and box["width"] >= 44


async def test_nothing_moves_for_a_reader_who_asked_for_stillness(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(reduced_motion="reduce")
    await full(room, people.rosa)

    assert await room.page.evaluate("document.getAnimations().length") == 0
    await expect(room.turns.nth(5).locator("[data-part=sign]")).to_be_visible()


async def test_in_forced_colours_who_said_it_and_what_is_drafted_keep_their_edges(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(forced_colors="active")
    await full(room, people.rosa)

    edge = (
        "(node) => getComputedStyle(node).borderTopColor !== getComputedStyle(document.body).backgroundColor"
    )
    for place in (".by-you", "[data-part=line]:not([hidden])", "[data-kind]", "textarea", "button.main"):
        assert await room.page.locator(place).first.evaluate(edge), place
    assert await violations(room) == []


async def test_the_check_itself_finds_a_fault(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    await full(room, people.rosa)

    await room.page.evaluate(
        """() => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(".text { color: #bbb; } .room { width: 2000px; } button { height: 20px; }");
          document.adoptedStyleSheets = [sheet];
        }"""
    )

    assert any(violation.startswith("color-contrast: ") for violation in await violations(room))
    assert await room.page.evaluate(OVERFLOW) > 0


async def test_without_scripts_the_page_says_whom_to_ask(open_room: OpenRoom, people: People) -> None:
    card = people.rosa.card
    room = await open_room(java_script_enabled=False)

    # The link's letters are for a script alone; the page offers the code.
    await room.go_to(f"/card/#{card.link}")
    await room.page.get_by_label("Type the code from your card").fill(card.code)
    await room.page.get_by_role("button", name="Come in").click()

    await expect(room.page.get_by_text("Please ask the staff to help.")).to_be_visible(timeout=10_000)
    await expect(room.send).to_be_disabled()


async def test_where_one_script_does_not_arrive_the_page_says_whom_to_ask(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.route("**/turns.*.js", lambda route: route.abort())

    await room.open_card(people.rosa)

    await expect(room.page.get_by_text("Please ask the staff to help.")).to_be_visible(timeout=10_000)
    room.complaints.clear()


async def test_a_browser_that_is_too_old_says_whom_to_ask(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    # As Firefox before 119, the first release that puts such properties on the element.
    await room.page.add_init_script("delete Element.prototype.ariaPressed")

    for path in ("/machine/", "/chat/"):
        await room.go_to(path)
        await expect(room.page.get_by_text("Please ask the staff to help.")).to_be_visible()
        await expect(room.greeting).to_be_hidden()
        if path == "/machine/":
            await room.go_to("/card/")
            await room.type_code(people.rosa)
            await room.page.wait_for_url("**/chat/")
    assert any("browser_too_old" in complaint for complaint in room.complaints)
    room.complaints.clear()


async def test_where_the_scripts_run_that_line_is_gone(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)

    await expect(room.page.get_by_text("Please ask the staff to help.")).to_have_count(0)
