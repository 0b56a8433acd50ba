"""Needs follow the person: chosen on one page, stored at once, right at the first paint of every page (A6)."""

import pytest
from playwright.async_api import Route, ViewportSize, expect

from companion.visits.leaving import end_visits_of
from tests.long_forms import mark_long
from tests.pages.axe import find_violations
from tests.pages.conftest import OpenRoom
from tests.pages.needs import LOOK, choose, get_needs, open_choices, set_needs
from tests.pages.script import Script
from tests.pages.test_for_everyone import (
    CUT_OFF,
    NARROW,
    OVERFLOW,
    SCHEMES,
    SPACED,
    TOO_SMALL,
    full,
    violations,
)
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Web

STRONG_AND_BIG = {"type_percent": 200, "contrast": "strong", "read_aloud": "each"}
# What a page that is painted for the first time has had put on by a script until then: nothing.
NOTE_FIRST_PAINT = """() => {
  const watched = { attributes: true, subtree: true, attributeFilter: ["data-type", "data-contrast", "data-words"] };
  new MutationObserver((changes) => (window.putOn = changes.map((change) => change.attributeName)))
    .observe(document, watched);
}"""
WIDE: ViewportSize = {"width": 1280, "height": 900}


async def test_a_choice_is_kept_at_once_seen_at_once_and_can_be_changed_back(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await open_choices(room)

    await choose(room, "Biggest")
    assert await room.page.evaluate(LOOK) == {"type": "200", "words": "whole"}
    await expect(room.page.get_by_text("Each answer now comes as a whole.")).to_be_visible()
    needs = get_needs(rosa)
    assert needs is not None and (needs.type_percent, needs.set_by) == (200, "")
    await choose(room, "Word by word")
    await room.page.get_by_role("button", name="Change it back").click()
    await expect(room.page.get_by_text("It is as it was before.")).to_be_visible()
    assert await room.page.evaluate(LOOK) == {"type": "200", "words": "whole"}
    await room.page.get_by_role("button", name="Change it back").click()

    await expect(room.page.get_by_role("button", name="Change it back")).to_be_hidden()
    await expect(room.page.get_by_role("button", name="Usual size")).to_have_attribute("aria-pressed", "true")
    assert await room.page.evaluate(LOOK) == {}
    assert get_needs(rosa) is None


async def test_a_choice_that_is_not_stored_is_not_shown_as_chosen(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await open_choices(room)
    await room.page.route("**/needs/", lambda route: route.fulfill(status=200, body=""))

    await room.page.get_by_role("button", name="Strong colours").click()

    await expect(room.page.get_by_text("This is not changed yet.")).to_be_visible()
    await expect(room.page.get_by_role("button", name="Usual colours")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert await room.page.evaluate(LOOK) == {}
    assert get_needs(rosa) is None


async def test_without_scripts_each_press_is_stored_keeps_its_place_and_can_be_changed_back(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room(java_script_enabled=False)
    await room.go_to("/card/")
    await room.type_code(rosa)
    await room.page.get_by_role("link", name="Make this easier").click()

    chosen = room.page.get_by_role("button", name="Short and easy words")
    await chosen.click()

    await expect(chosen).to_have_attribute("aria-pressed", "true")
    await expect(chosen).to_be_focused()
    await expect(room.page.get_by_text("This is changed.")).to_be_visible()
    needs = get_needs(rosa)
    assert needs is not None and needs.easy_words
    await room.page.get_by_role("button", name="Change it back").click()
    await expect(room.page.get_by_text("It is as it was before.")).to_be_visible()
    assert get_needs(rosa) is None


async def test_every_page_is_right_at_its_first_paint_and_no_script_puts_it_right(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    set_needs(rosa, **STRONG_AND_BIG)
    room = await open_room()
    await room.context.add_init_script(f"({NOTE_FIRST_PAINT})()")
    await room.enter(rosa)
    wanted = {"type": "200", "contrast": "strong", "words": "whole", "aloud": "each"}

    for path in ("/chat/", "/needs/", "/closing/", "/help/", "/card/", "/nothing/here/"):
        await room.go_to(path)
        assert await room.page.evaluate(LOOK) == wanted, path
        assert await room.page.evaluate("window.putOn ?? []") == [], path
        answer = await room.context.request.get(f"{room.base_url}{path}")
        assert 'data-type="200" data-contrast="strong"' in (await answer.text())[:400], path
    room.complaints.clear()


async def test_the_goodbye_can_be_read_by_the_person_and_the_next_person_sees_nothing_of_it(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    set_needs(rosa, **STRONG_AND_BIG)
    room = await (await open_room()).enter(rosa)

    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    assert await room.page.evaluate(LOOK) == {"type": "200", "contrast": "strong"}
    for path in ("/card/", "/needs/"):
        await room.go_to(path)
        assert await room.page.evaluate(LOOK) == {}, path
    await room.enter(people.add_participant("Ana"))
    assert await room.page.evaluate(LOOK) == {}


async def test_needs_hold_on_another_machine(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await open_choices(room)
    await choose(room, "Strong colours")
    # Left before the visit moves: a page that asks just then is refused, and the browser remarks on it.
    await room.page.close()

    elsewhere = await (await open_room()).enter(rosa)

    assert await elsewhere.page.evaluate(LOOK) == {"contrast": "strong", "words": "whole"}


async def test_what_staff_set_is_on_an_open_page_at_once_and_a_tab_hears_of_the_other(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    second = await room.another_tab()
    await second.ready()
    await room.box.focus()

    set_needs(rosa, type_percent=150)

    await room.until("document.documentElement.dataset.type === '150'")
    await second.until("document.documentElement.dataset.type === '150'")
    await expect(room.box).to_be_focused()
    await open_choices(room)
    await choose(room, "Strong colours")
    await second.until("document.documentElement.dataset.contrast === 'strong'")


async def test_an_open_page_is_in_the_language_that_staff_have_set_and_what_was_typed_is_still_there(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.box.fill("A draft about a blue door.")

    set_needs(rosa, language="es")

    await expect(room.page.get_by_role("button", name="Ya terminé")).to_be_visible()
    assert await room.page.evaluate("document.documentElement.lang") == "es"
    await expect(room.page.locator("#words")).to_have_value("A draft about a blue door.")


async def test_an_open_page_of_choices_shows_what_staff_set_and_says_so(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await open_choices(room)
    page, bigger = room.page, room.page.get_by_role("button", name="Much bigger")
    await page.get_by_role("button", name="Strong colours").focus()

    set_needs(rosa, type_percent=150, idle_factor=5)

    await expect(bigger).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate(LOOK) == {"type": "150", "words": "whole"}
    await expect(page.get_by_role("status").get_by_text("This is changed.")).to_be_visible()
    await expect(page.locator("[name=language][aria-pressed=true]")).to_have_text("English")
    await expect(page.get_by_role("button", name="Strong colours")).to_be_focused()
    await choose(room, "Strong colours")
    await expect(page.locator("[name=language][aria-pressed=true]")).to_have_text("English")
    set_needs(rosa, language="es")
    await expect(page.locator("[name=language][aria-pressed=true]")).to_have_text("Español")
    assert await page.evaluate("document.documentElement.lang") == "es"


async def test_words_that_are_typed_are_there_again_after_a_look_at_the_choices(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.box.fill("I was about to say")
    await open_choices(room)

    await room.page.get_by_role("link", name="Back to the chat").first.click()
    await room.ready()
    await expect(room.box).to_have_value("I was about to say")
    assert await room.page.evaluate("location.hash") == ""
    await room.box.press("Enter")
    await room.becomes(room.turns.first, "complete")
    await open_choices(room)
    await room.page.get_by_role("link", name="Back to the chat").first.click()
    await room.ready()

    await expect(room.turns).to_have_count(1)
    await expect(room.box).to_have_value("")


@pytest.mark.parametrize("needs", [STRONG_AND_BIG, *mark_long([{}])], ids=["strong and big", "usual"])
async def test_the_choices_and_the_chat_keep_every_rule_with_any_need(
    open_room: OpenRoom, people: People, needs: dict[str, object]
) -> None:
    rosa = people.rosa
    if needs:
        set_needs(rosa, **needs)
    room = await open_room(viewport=WIDE)

    for is_chat in (False, True):
        if is_chat:
            await full(room, rosa)
        else:
            await room.enter(rosa)
            await open_choices(room)
        for scheme in SCHEMES:
            await room.page.emulate_media(color_scheme=scheme, forced_colors="none")
            assert await violations(room) == [], (is_chat, scheme)
        await room.page.emulate_media(color_scheme="light", forced_colors="active")
        assert await violations(room) == [], is_chat
        for size in (*NARROW, WIDE):
            await room.page.set_viewport_size(size)
            assert await room.page.evaluate(OVERFLOW) <= 0, (is_chat, size)
            assert await room.page.evaluate(TOO_SMALL) == [], (is_chat, size)
        await room.page.evaluate(SPACED)
        for size in NARROW:
            await room.page.set_viewport_size(size)
            assert await room.page.evaluate(OVERFLOW) <= 0, (is_chat, size)
            assert await room.page.evaluate(CUT_OFF) == [], (is_chat, size)
        await room.page.set_viewport_size(WIDE)


async def test_with_strong_colours_every_text_reaches_seven_to_one(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    set_needs(rosa, contrast="strong")
    room = await open_room()
    await full(room, rosa)

    for scheme in SCHEMES:
        await room.page.emulate_media(color_scheme=scheme)
        assert await find_violations(room.page, rules=["wcag2aaa"]) == [], scheme


async def test_the_choices_are_made_with_the_keyboard_alone(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.page.get_by_role("link", name="Make this easier").focus()
    keys = room.page.keyboard
    await keys.press("Enter")
    await expect(room.page.get_by_role("heading", name="Make this easier")).to_be_visible()

    for name in ("Much bigger", "Strong colours", "Change it back", "Change it back"):
        target = room.page.get_by_role("button", name=name, exact=True)
        for _ in range(60):
            if await target.evaluate("(node) => node === document.activeElement"):
                break
            await keys.press("Tab")
        await expect(target).to_be_focused()
        seen = await target.evaluate(
            """(node) => {
              const box = node.getBoundingClientRect();
              return node.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
            }"""
        )
        assert seen, name
        # The page asks what is recorded as well.
        async with room.page.expect_response(lambda answer: answer.request.method == "POST"):
            await keys.press("Enter")

    assert get_needs(rosa) is None
    assert await room.page.evaluate("document.activeElement !== document.body")


@pytest.mark.parametrize("where", ["in another tab", "on the service"])
async def test_an_open_page_of_choices_is_empty_soon_after_the_end(
    open_room: OpenRoom, people: People, service: Web, where: str
) -> None:
    rosa = people.rosa
    set_needs(rosa, type_percent=200)
    room = await (await open_room()).enter(rosa)
    second = await room.another_tab()
    await open_choices(second)

    if where == "in another tab":
        await room.finished.click()
    else:
        in_database(lambda: end_visits_of([rosa.row.pk]))

    await expect(second.page.get_by_text("Please come in first.")).to_be_visible()
    assert await second.page.evaluate(LOOK) == {}
    second.complaints.clear()


async def test_a_proxys_401_neither_ends_the_visit_nor_changes_anything(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    await open_choices(room)
    asked: list[str] = []

    async def refuse(route: Route) -> None:
        asked.append(route.request.method)
        await route.fulfill(status=401, body="<p>Sign in to this network</p>", content_type="text/html")

    await room.page.route("**/needs/", refuse)
    await room.page.get_by_role("button", name="Strong colours").click()

    await until(lambda: "POST" in asked and asked.count("GET") >= 2, within_s=30)
    await expect(room.page.get_by_text("This is not changed yet.")).to_be_visible()
    await expect(room.page.get_by_role("heading", name="Make this easier")).to_be_visible()
    room.complaints.clear()


async def test_the_service_of_the_previous_release_sends_no_look_and_the_page_keeps_its_own(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    set_needs(rosa, contrast="strong")
    room = await open_room()

    await Script.behind(room, rosa)

    assert (await room.page.evaluate(LOOK))["contrast"] == "strong"
