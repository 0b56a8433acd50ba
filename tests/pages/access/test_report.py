"""The accessibility report is written, and it is red where a check fails or a state was not checked (A3)."""

from dataclasses import replace
from pathlib import Path

from playwright.async_api import expect

from tests.pages.access.checks import check
from tests.pages.access.report import Report
from tests.pages.access.stage import Stage
from tests.pages.access.states import speaking
from tests.pages.axe import find_violations
from tests.pages.conftest import OpenRoom
from tests.people import People

PART = "Pages of participants"
SPOIL = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`.text { color: #777; } .room { width: 2000px; } .strip { margin-block-start: 50px; }
    button { min-height: 20px; line-height: 1; padding: 0; border: 0; outline: none !important; }
    .standing { white-space: nowrap; width: 100px; } .writing { position: fixed; inset: 0; }
    .sign { animation: breathe 3s infinite !important; }`);
  document.adoptedStyleSheets = [sheet];
  document.title = "";
}"""


async def test_every_check_finds_its_fault_and_the_report_is_red(
    open_room: OpenRoom, people: People, tmp_path: Path
) -> None:
    sound = await speaking(Stage(open_room=open_room, people=people))
    await sound.page.evaluate(SPOIL)
    scene = replace(sound, arrive=lambda: sound.page.evaluate("document.activeElement.blur()"))

    faults = await check(scene)

    assert [name for name, found in faults.items() if not found] == []
    report = Report(tmp_path, expected={PART: ["speaking"]})
    report.add("speaking", PART, faults, {})
    page = report.page.read_text()
    assert "Red: 13 checks failed, 0 states not checked." in page
    assert page.count('<td class="red">') == 13 and page.count('<td class="green">') == 0


async def test_the_report_names_what_failed_and_what_was_not_checked_and_can_be_read_by_everyone(
    open_room: OpenRoom, tmp_path: Path
) -> None:
    report = Report(tmp_path, expected={PART: ["empty", "speaking", "paused"]})
    picture = b"\x89PNG\r\n\x1a\n"
    report.add("empty", PART, {"320 px": [], "Motion": []}, {"phone": picture, "desktop": picture})
    report.add("speaking", PART, {"320 px": ["<b>1400 px</b>"], "Motion": []}, {})
    room = await open_room()

    await room.page.goto(report.page.as_uri())

    await expect(room.page.get_by_text("Red: 1 checks failed, 1 states not checked.")).to_be_visible()
    await room.page.get_by_text("Red: 1", exact=True).click()
    await expect(room.page.get_by_text("<b>1400 px</b>")).to_be_visible()
    await expect(room.page.get_by_role("row", name="paused").get_by_role("cell")).to_have_text(
        "Red: not checked"
    )
    assert await find_violations(room.page) == []
    assert (tmp_path / "pages_of_participants-empty-phone.png").read_bytes() == picture


def test_a_state_that_is_checked_again_is_green_as_soon_as_it_is_mended(tmp_path: Path) -> None:
    report = Report(tmp_path, expected={PART: ["empty"]})
    report.add("empty", PART, {"320 px": ["1400 px"]}, {})
    assert "All green." not in report.page.read_text()

    report.add("empty", PART, {"320 px": []}, {})

    assert "All green." in report.page.read_text()


def test_what_the_long_form_checked_is_shown_beside_what_every_run_checks(tmp_path: Path) -> None:
    report = Report(tmp_path, expected={PART: ["empty"]})
    report.add("empty", PART, {"320 px": []}, {})

    report.add("empty", f"{PART}, every look", {"phone, dark": ["1400 px"]}, {})

    page = report.page.read_text()
    assert f"<h2>{PART}, every look</h2>" in page and "Red: 1 checks failed, 0 states not checked." in page
