"""The accessibility rules of axe-core, checked on an open page."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page

WCAG_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
# Off unless they are named: axe knows them as new, and as a rule of level AAA.
NAMED = {"target-size": {"enabled": True}, "color-contrast-enhanced": {"enabled": True}}
COLOURS = ["color-contrast", "color-contrast-enhanced", "link-in-text-block"]


async def find_violations(page: Page, *, rules: list[str] | None = None) -> list[str]:
    """Check the page with the rules of these tags, by default with all; returns one line per fault found."""
    return await _run(page, {} if rules is None else {"runOnly": rules})


async def find_enhanced_violations(page: Page) -> list[str]:
    """Check the page with every rule of WCAG 2.2 at levels A and AA, and for a contrast of 7:1."""
    return await _run(page, {"runOnly": {"type": "tag", "values": WCAG_AA}, "rules": NAMED})


async def find_colour_violations(page: Page) -> list[str]:
    """Check the contrast alone, for another look of a page that has been checked."""
    return await _run(page, {"runOnly": {"type": "rule", "values": COLOURS}})


async def _run(page: Page, options: dict[str, Any]) -> list[str]:
    # Half a megabyte: once for each page is enough.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE_SCRIPT)
    found = await page.evaluate("(options) => axe.run(options)", {"resultTypes": ["violations"], **options})
    return [
        f"{violation['id']}: {node['html']} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
