"""The staff's sign-in with a second step in a real browser: by keyboard alone, in every look, and without a script."""

import re

import pytest
from django.contrib.auth.models import User
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.async_api import Browser, Locator, Page, expect

from tests.pages.test_staff_turns import is_sound, is_sound_in_every_look, open_session, open_staff_page
from tests.people import People, in_database
from tests.processes import Web

SMALL = {"viewport": {"width": 320, "height": 640}}


def read_code(user: User) -> str:
    """The code that the app shows, as if none had been typed before."""
    device = in_database(lambda: TOTPDevice.objects.get(user=user))
    in_database(lambda: TOTPDevice.objects.filter(pk=device.pk).update(last_t=-1, throttling_failure_count=0))
    return f"{totp(device.bin_key):06d}"


async def sign_in(page: Page, user: User, password: str) -> None:
    await page.goto("/staff/sign-in/?next=/ops/turns/")
    await expect(page.get_by_label("Name")).to_be_focused()
    await page.keyboard.type(user.get_username())
    await page.keyboard.press("Tab")
    await page.keyboard.type(password)
    await page.keyboard.press("Enter")


async def test_an_app_is_set_up_and_used_with_the_keyboard_alone_on_a_small_screen(
    browser: Browser, service: Web, people: People
) -> None:
    sam = people.add_sam()
    async with open_staff_page(browser, service, **SMALL) as page:
        await open_session(page, sam)
        await page.goto("/ops/account/")
        await is_sound(page)
        await page.get_by_role("button", name="Set up an app").press("Enter")
        code = page.get_by_label("Code of the app")
        await expect(code).to_be_focused()
        await expect(page.get_by_role("img", name="QR code with the key for the app")).to_be_visible()
        await expect(page.locator(".letters")).to_have_text(re.compile(r"^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$"))
        await is_sound(page)
        await code.focus()
        await page.keyboard.type(read_code(sam))
        await page.keyboard.press("Enter")
        await expect(page.locator("main [role=status]:visible")).to_have_text(
            "From now on you sign in with a code of your app as well."
        )
        await is_sound(page)
    async with open_staff_page(browser, service, java_script_enabled=False, **SMALL) as page:
        await sign_in(page, sam, people.password)
        await expect(page.get_by_role("heading", level=1)).to_have_text("The second step", timeout=20_000)
        await expect(code_field(page)).to_be_focused()
        await page.keyboard.type("no code")
        await page.keyboard.press("Enter")
        await expect(page.locator("main [role=alert]:visible")).to_contain_text("Not signed in.")
        await code_field(page).fill(read_code(sam))
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Paused turns")


def code_field(page: Page) -> Locator:
    return page.get_by_label("Code of the app")


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_the_second_step_and_the_account_are_sound_in_every_look(
    browser: Browser, service: Web, people: People
) -> None:
    sam = people.add_sam()
    async with open_staff_page(browser, service) as page:
        await open_session(page, sam)
        await page.goto("/ops/account/")
        await page.get_by_label("Present password").fill("wrong")
        await page.get_by_label("New password", exact=True).fill("short")
        await page.get_by_label("The new password again").fill("short")
        await page.get_by_role("button", name="Change the password").click()
        await expect(page.locator("main [role=alert]:visible")).to_contain_text("Nothing was changed.")
        await is_sound_in_every_look(page)
