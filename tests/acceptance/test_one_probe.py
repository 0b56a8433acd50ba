"""Four processes, twenty-five people each, at the moment an open lane's time is up: exactly one request (B3)."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from tests.lanes import Lanes
from tests.page_socket import Page
from tests.patience import until
from tests.people import People
from tests.processes import Web

PROCESSES, PEOPLE = 4, 25


async def test_of_a_hundred_people_one_is_the_probe_and_the_others_are_served_elsewhere(
    another_web: Callable[..., Web], people: People, lanes: Lanes
) -> None:
    settings = {**lanes.write_settings(first_word_ms=60_000), "COMPANION_BREAKER_COOLDOWN_S": "10"}
    webs = [another_web(**settings) for _ in range(PROCESSES)]
    cast = [people.add_participant(f"P{number}") for number in range(PROCESSES * PEOPLE)]
    cookies = [person.sign_in(webs[0].url) for person in cast]
    lanes.clear()
    async with AsyncExitStack() as stack:
        pages = [
            await stack.enter_async_context(Page(webs[number % PROCESSES].socket_url, cookie))
            for number, cookie in enumerate(cookies)
        ]
        lanes.primary.inject({"status": 429, "error": "rate_limit"}, times=3)
        for page in pages[:2]:
            await page.say("Good day.")
            await page.ending()
        await until(lambda: all("to=open" in web.log_text for web in webs))
        # The probe lasts as long as all the other calls together, so a second admitted call would be seen.
        lanes.primary.inject({"hang": "before_word", "pings_ms": 100})
        lanes.backup.inject({"words": 5, "pace_ms": 0, "first_word_s": 0})
        await lanes.wait_until_cooled_down()
        await asyncio.gather(*(page.say("Good day.") for page in pages))
        await until(lambda: len(lanes.backup.list_requests()) == 2 + len(pages) - 1, within_s=30)
        assert len(lanes.primary.list_requests()) == 3 + 1
        lanes.primary.clear()
        row = lanes.breaker()
        assert row is not None and row.state == "half_open"
