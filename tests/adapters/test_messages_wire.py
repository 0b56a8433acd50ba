"""What goes out on the messages wire; how its answers end stands in the matrix of endings."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from routing.contracts import Ask, Lane, Message
from routing.errors import FailureClass as F
from tests.adapters.calls import ASK, call_lane
from tests.processes import Rehearsal


@pytest.fixture
def wire() -> str:
    return "anthropic"


async def test_the_character_stands_beside_the_messages_and_the_key_in_its_own_header(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_FOR_TESTS", "a key")
    asked: tuple[Any, ...] = (
        Message(role="system", text="You are Robin."),
        Message(role="user", text="Hello?"),
        Message(role="assistant", text="Hello."),
        Message(role="user", text="Who are you?"),
    )
    ask = Ask(reference=ASK.reference, messages=asked)
    record = await call_lane(client, replace(lane, api_key_env="A_KEY_FOR_TESTS"), ask=ask)
    assert record.failed is None
    [request] = provider.list_requests()
    assert request["key_sent"] and "authorization" not in request["headers"]
    assert request["headers"]["anthropic-version"] == "2023-06-01"
    assert [one["role"] for one in request["messages"]] == ["system", "user", "assistant", "user"]
    assert "Robin" in record.text


async def test_messages_that_do_not_alternate_are_refused_by_the_double_as_by_the_real_one(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    twice = Message(role="user", text="Hello?")
    record = await call_lane(client, lane, ask=Ask(reference="turn-1", messages=(twice, twice)))
    assert record.failed is not None
    assert record.failed.failure is F.BAD_REQUEST
