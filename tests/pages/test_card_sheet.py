"""A printed sheet of cards: whole cards, no name on them, and a QR code that holds the card's link (A1)."""

from base64 import b64encode

import segno
from playwright.async_api import Page, expect

from ops.people.card_sheets import build_link
from tests.pages.axe import find_violations
from tests.pages.staff_screens import OpenDesk
from tests.people import People

QUIET = 4
"""Modules of white around a QR code."""
READ_MODULES = """async ([png, side]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const at = (index, length) => Math.floor(((index + 0.5) * length) / side);
  const isDark = (x, y) => Number(context.getImageData(at(x, image.width), at(y, image.height), 1, 1).data[1] < 128);
  return Array.from({ length: side }, (_, y) => Array.from({ length: side }, (_, x) => isDark(x, y)));
}"""


async def test_a_sheet_prints_on_whole_cards_and_its_codes_hold_their_links(
    open_desk: OpenDesk, people: People
) -> None:
    rosa, tomas = people.rosa, people.add_participant("Tomas")
    sam = await (await open_desk()).go("/ops/cards/")
    for name in ("Rosa", "Tomas"):
        await sam.page.get_by_label(name, exact=True).check()
    await sam.button("Make the sheet").click()

    await expect(sam.page.locator(".card")).to_have_count(2)
    first = await sam.page.locator(".card").first.inner_text()
    assert "Rosa" not in first and rosa.card.code.upper() in first
    await expect(sam.page.locator(".holders")).to_contain_text("Tomas")
    assert await find_violations(sam.page) == []
    await sam.page.emulate_media(media="print")
    await expect(sam.button("Print")).to_be_hidden()
    assert tomas.card.code.upper() in await sam.page.locator(".card").nth(1).inner_text()
    for number, person in enumerate((rosa, tomas)):
        wanted = [
            [int(module) for module in row] for row in segno.make_qr(build_link(person.card), "m").matrix
        ]
        assert await read_modules(sam.page, number, side=len(wanted)) == wanted


async def read_modules(page: Page, number: int, *, side: int) -> list[list[int]]:
    """The modules of a printed QR code, read from its picture; outside them it has to be white."""
    picture = await page.locator(".card .qr").nth(number).screenshot()
    blank = await page.context.new_page()
    read: list[list[int]] = await blank.evaluate(
        READ_MODULES, [b64encode(picture).decode(), side + 2 * QUIET]
    )
    await blank.close()
    assert not any(read[line][column] for line in (0, QUIET - 1, side + QUIET) for column in range(len(read)))
    return [row[QUIET:-QUIET] for row in read[QUIET:-QUIET]]
