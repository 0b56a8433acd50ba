"""What a turn was served by, and what its calls took, stand with it (R12, R13)."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from tests.lanes import Lanes
from tests.page_socket import Page
from tests.people import People, get_attempts
from tests.processes import Web


def hash_of(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


async def test_a_turn_carries_the_hash_of_the_routing_file_and_its_calls_the_tokens_they_took(
    another_web: Callable[..., Web], lanes: Lanes, people: People
) -> None:
    settings = lanes.write_settings()
    written = hash_of(settings["COMPANION_ROUTING"])
    web = another_web(**settings)
    lanes.clear()
    rosa = people.add_participant("Rosa")
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        await page.say("Good day.")
        await page.ending(within_s=40)

    [turn] = rosa.turns()
    assert turn.routing_hash == written
    [call] = get_attempts(turn.pk)
    # The rehearsal provider says one and one, whatever is said.
    assert (call.lane, call.input_tokens, call.output_tokens) == (lanes.head, 1, 1)
