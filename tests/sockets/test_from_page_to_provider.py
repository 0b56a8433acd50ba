"""References lead from a page's socket over its turn and flag to the call of the provider."""

import json
from collections.abc import Callable
from typing import Any

import httpx

from companion.models import Flag
from tests.lanes import Lanes
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Web

RED = "I want to kill myself tonight."
WORDS = "Good day from the page."


def read_log(web: Web) -> list[dict[str, Any]]:
    """Every line that the process has logged. Each must be a document."""
    return [json.loads(line) for line in web.log.read_text().splitlines() if line.startswith("{")]


async def test_a_turn_and_a_flag_are_found_by_their_references_and_no_word_is(
    another_web: Callable[..., Web], lanes: Lanes, people: People
) -> None:
    web = another_web(COMPANION_LOG="json", **lanes.write_settings())
    lanes.clear()
    rosa = people.rosa
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say(WORDS)
        await page.ending(within_s=40)
        await page.say(RED)
        await page.until("safety")

    answered, red = rosa.turns()
    [flag] = in_database(lambda: list(Flag.objects.filter(conversation=rosa.conversation)))
    lines = read_log(web)
    [ended] = [line for line in lines if line["event"] == "turn.ended" and line["turn"] == answered.pk]
    assert len(ended["request"]) == 32
    assert f"turn-{answered.pk}" in {asked["request_id"] for asked in lanes.primary.list_requests()}
    [raised] = [line for line in lines if line["event"] == "flag.raised"]
    assert (raised["flag"], raised["turn"], raised["tier"]) == (flag.pk, red.pk, "red")
    text = web.log.read_text()
    assert WORDS not in text and RED not in text and "Rosa" not in text


def test_the_answer_to_a_request_carries_its_reference(service: Web) -> None:
    first, second = (httpx.get(f"{service.url}/healthz", trust_env=False) for _ in range(2))

    assert len(first.headers["x-request-id"]) == 32
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
