"""The checks of the accessibility report: each looks at an open page and returns its faults."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from playwright.async_api import Page, ViewportSize

from tests.pages.access import measures
from tests.pages.access.measures import measure
from tests.pages.axe import find_colour_violations, find_enhanced_violations

DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 320, "height": 568}
# 400 % of a window of 1280 by 1024.
ZOOMED: ViewportSize = {"width": 320, "height": 256}
# A phone held sideways while its keyboard is on the screen.
SIDEWAYS: ViewportSize = {"width": 640, "height": 180}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A page in a state, ready to be checked."""

    page: Page
    arrive: Callable[[], Awaitable[object]] | None = None
    """Makes something new come to the page; None: nothing comes to it."""
    is_participants: bool = True
    is_neutral: bool = False
    """The page after the quick exit: it shows nothing of the service, also no way to a person."""


Check = Callable[[Scene], Awaitable[list[str]]]


async def find_rule_faults(scene: Scene) -> list[str]:
    return await find_enhanced_violations(scene.page)


async def find_dark_faults(scene: Scene) -> list[str]:
    await scene.page.emulate_media(color_scheme="dark")
    faults = await find_colour_violations(scene.page)
    await scene.page.emulate_media(color_scheme="light")
    return faults


async def find_forced_colour_faults(scene: Scene) -> list[str]:
    await scene.page.emulate_media(forced_colors="active")
    faults = await measure(scene.page, measures.WITHOUT_EDGE)
    await scene.page.emulate_media(forced_colors="none")
    return faults


async def find_motion_faults(scene: Scene) -> list[str]:
    endless = await measure(scene.page, measures.ENDLESS)
    await scene.page.emulate_media(reduced_motion="reduce")
    moving = await measure(scene.page, measures.MOVING)
    await scene.page.emulate_media(reduced_motion="no-preference")
    return [f"longer than 5 s: {one}" for one in endless] + [f"with reduced motion: {one}" for one in moving]


async def find_phone_faults(scene: Scene) -> list[str]:
    return await _find_narrow_faults(scene, PHONE)


async def find_zoom_faults(scene: Scene) -> list[str]:
    faults = await _find_narrow_faults(scene, ZOOMED)
    return faults + await measure(scene.page, measures.COVERED)


async def _find_narrow_faults(scene: Scene, size: ViewportSize) -> list[str]:
    page = scene.page
    await page.set_viewport_size(DESKTOP)
    before = await measure(page, measures.CONTROLS)
    await page.set_viewport_size(size)
    now = await measure(page, measures.CONTROLS)
    lost = [f"lost: {name}" for name in before if name not in now]
    return lost + await measure(page, measures.WIDER) + await measure(page, measures.CUT_OFF)


async def find_spacing_faults(scene: Scene) -> list[str]:
    await scene.page.evaluate(measures.SPACED)
    faults = await _find_faults_at(scene, PHONE, ZOOMED, DESKTOP, scripts=(measures.WIDER, measures.CUT_OFF))
    await scene.page.evaluate(measures.UNSPACED)
    return faults


async def _find_faults_at(scene: Scene, *sizes: ViewportSize, scripts: Sequence[str]) -> list[str]:
    faults: list[str] = []
    for size in sizes:
        await scene.page.set_viewport_size(size)
        found = [fault for script in scripts for fault in await measure(scene.page, script)]
        faults += [f"{size['width']} × {size['height']}: {fault}" for fault in found]
    return faults


async def find_sideways_faults(scene: Scene) -> list[str]:
    page = scene.page
    await page.set_viewport_size(SIDEWAYS)
    faults = await measure(page, measures.WIDER) + await measure(page, measures.COVERED)
    faults += await measure(page, measures.UNSEEN_FOCUS)
    await page.set_viewport_size(DESKTOP)
    return faults


async def find_target_faults(scene: Scene) -> list[str]:
    return await _find_faults_at(scene, PHONE, DESKTOP, scripts=(measures.TOO_SMALL,))


async def find_focus_faults(scene: Scene) -> list[str]:
    return await _find_faults_at(scene, PHONE, ZOOMED, DESKTOP, scripts=(measures.UNSEEN_FOCUS,))


async def find_names_faults(scene: Scene) -> list[str]:
    return await measure(scene.page, measures.NAMES)


async def find_help_faults(scene: Scene) -> list[str]:
    if scene.is_neutral or not scene.is_participants:
        return []
    await scene.page.evaluate("scrollTo(0, 0)")
    return await _find_faults_at(scene, PHONE, DESKTOP, scripts=(measures.HELP_PLACE,))


async def find_arrival_faults(scene: Scene) -> list[str]:
    """Something comes while the focus is elsewhere. A reader at the end goes with it, one further up does not."""
    if scene.arrive is None:
        return []
    page = scene.page
    await page.set_viewport_size(PHONE)
    held = """() => {
      const first = document.querySelector("main a[href], main button, a[href], button");
      first.focus({ preventScroll: true });
      scrollTo(0, 30);
      window.heldBy = document.activeElement;
      const isFurtherUp = document.documentElement.scrollHeight - innerHeight - scrollY > 200;
      return [scrollY, isFurtherUp];
    }"""
    before, is_further_up = await page.evaluate(held)
    await scene.arrive()
    now, is_held = await page.evaluate("() => [scrollY, document.activeElement === window.heldBy]")
    await page.set_viewport_size(DESKTOP)
    moved = [f"the page moved from {before} px to {now} px"] if is_further_up and now != before else []
    return moved if is_held else ["the focus moved", *moved]


CHECKS: dict[str, Check] = {
    "WCAG 2.2 A and AA, contrast 7:1": find_rule_faults,
    "Dark, contrast 7:1": find_dark_faults,
    "Forced colours": find_forced_colour_faults,
    "Motion": find_motion_faults,
    "320 px": find_phone_faults,
    "400 %": find_zoom_faults,
    "Text spacing": find_spacing_faults,
    "Keyboard on the screen": find_sideways_faults,
    "Targets of 44 px": find_target_faults,
    "Focus in sight": find_focus_faults,
    "Title, language, heading": find_names_faults,
    "A person in the same place": find_help_faults,
    "Still when something comes": find_arrival_faults,
}


async def check(scene: Scene) -> dict[str, list[str]]:
    """Run every check on a page; returns the faults of each."""
    await scene.page.set_viewport_size(DESKTOP)
    return {name: await find(scene) for name, find in CHECKS.items()}


Colours = Literal["light", "dark"]
LIGHT: Colours = "light"
DARK: Colours = "dark"


@dataclass(frozen=True, kw_only=True)
class Look:
    """One way in which a page is looked at, in the long form."""

    name: str
    size: ViewportSize
    scheme: Colours = "light"
    is_forced: bool = False
    needs: tuple[tuple[str, str], ...] = ()
    """Attributes of the root element, as the needs of a participant put them there."""


STRONG_AND_BIGGEST = (("type", "200"), ("contrast", "strong"))
LOOKS = [
    Look(name=f"{place}, {colours}", size=size, scheme=scheme, is_forced=is_forced, needs=needs)
    for place, size in {"desktop": DESKTOP, "phone": PHONE, "zoomed": ZOOMED, "sideways": SIDEWAYS}.items()
    for colours, scheme, is_forced, needs in (
        ("light", LIGHT, False, ()),
        ("dark", DARK, False, ()),
        ("forced colours", LIGHT, True, ()),
        ("strong and biggest", LIGHT, False, STRONG_AND_BIGGEST),
        ("strong and biggest, dark", DARK, False, STRONG_AND_BIGGEST),
    )
]


async def look(scene: Scene, as_seen: Look) -> list[str]:
    """Every rule, measure and stop of the keyboard in one look."""
    page = scene.page
    await page.set_viewport_size(as_seen.size)
    await page.emulate_media(
        color_scheme=as_seen.scheme, forced_colors="active" if as_seen.is_forced else "none"
    )
    put = "(needs) => { for (const [name, value] of needs) document.documentElement.dataset[name] = value; }"
    drop = "(needs) => { for (const [name] of needs) delete document.documentElement.dataset[name]; }"
    needs = as_seen.needs if scene.is_participants else ()
    await page.evaluate(put, [list(one) for one in needs])
    faults = await find_enhanced_violations(page)
    for script in (measures.WIDER, measures.CUT_OFF, measures.TOO_SMALL, measures.UNSEEN_FOCUS):
        faults += await measure(page, script)
    await page.evaluate(drop, [list(one) for one in needs])
    await page.emulate_media(color_scheme="light", forced_colors="none")
    return faults
