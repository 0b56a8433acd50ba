"""The accessibility rules of axe-core, checked on an open page."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page


async def find_violations(page: Page, *, rules: list[str] | None = None) -> list[str]:
    """Check the page with the rules of these tags, by default with all; returns one line per fault found."""
    # Half a megabyte: once for each page is enough.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE_SCRIPT)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules is not None:
        options["runOnly"] = rules
    found = await page.evaluate("(options) => axe.run(options)", options)
    return [
        f"{violation['id']}: {node['html']} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
