"""The same matrix over the messages wire: every way a call can end, before and after words, over real sockets."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from routing.contracts import Ask, Lane, Message
from routing.errors import FailureClass as F
from tests.adapters.hearing import ASK, hear
from tests.adapters.test_endings import CUTS, PIECES, SAID, saying
from tests.adapters.test_text import ODD, SLIPPED_IN
from tests.processes import Rehearsal

IN_STREAM = {
    "anthropic_overloaded": F.OVERLOADED,
    "anthropic_rate_limit": F.RATE_LIMITED,
    "anthropic_api": F.SERVER_ERROR,
    "anthropic_timeout": F.SERVER_ERROR,
    "anthropic_authentication": F.MISCONFIGURED,
    "anthropic_permission": F.MISCONFIGURED,
    "anthropic_not_found": F.MISCONFIGURED,
    "anthropic_billing": F.QUOTA,
    "anthropic_credit": F.QUOTA,
    "anthropic_invalid": F.BAD_REQUEST,
    "anthropic_too_long": F.TOO_LONG,
    "anthropic_too_large": F.TOO_LONG,
    "mystery": F.UNKNOWN,
    "deep": F.SERVER_ERROR,
    "half_json": F.SERVER_ERROR,
}
STATUSES = [
    (400, "anthropic_invalid", F.BAD_REQUEST),
    (400, "anthropic_too_long", F.TOO_LONG),
    (400, "anthropic_credit", F.QUOTA),
    (401, "anthropic_authentication", F.MISCONFIGURED),
    (402, "anthropic_billing", F.QUOTA),
    (403, "anthropic_permission", F.MISCONFIGURED),
    (404, "anthropic_not_found", F.MISCONFIGURED),
    (413, "anthropic_too_large", F.TOO_LONG),
    (429, "anthropic_rate_limit", F.RATE_LIMITED),
    (500, "anthropic_api", F.SERVER_ERROR),
    (504, "anthropic_timeout", F.SERVER_ERROR),
    (529, "anthropic_overloaded", F.OVERLOADED),
    (502, "html", F.SERVER_ERROR),
]
STOPS: dict[str | None, F] = {
    "refusal": F.REFUSED,
    "tool_use": F.INCOMPLETE,
    "pause_turn": F.INCOMPLETE,
    "END_TURN": F.INCOMPLETE,
    "": F.INCOMPLETE,
    None: F.INCOMPLETE,
}


@pytest.fixture
def lane(lane: Lane) -> Lane:
    """The same place, asked on the other wire."""
    return replace(lane, adapter="anthropic")


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
async def test_a_message_that_ends_of_itself_is_whole(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reason: str
) -> None:
    provider.will(saying(finish=reason))
    heard = await hear(client, lane)
    assert heard.failed is None
    assert heard.text == "".join(PIECES)
    assert heard.finished is not None and not heard.finished.truncated
    assert heard.finished.model == "rehearsal-1"


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_a_message_at_a_limit_is_whole_and_marked_short(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reason: str
) -> None:
    provider.will(saying(finish=reason))
    heard = await hear(client, lane)
    assert heard.finished is not None and heard.finished.truncated


@pytest.mark.parametrize("reason", STOPS)
async def test_any_other_stop_reason_after_words_is_a_failure_and_the_words_stand(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reason: str | None
) -> None:
    provider.will(saying(finish=reason))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is STOPS[reason]
    assert heard.text == "".join(PIECES)


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("cut", CUTS)
async def test_a_message_that_is_cut_is_a_failure_of_its_class(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, cut: str, after: int
) -> None:
    provider.will(saying(cut=cut, after=after))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is CUTS[cut]
    assert heard.text == ("" if cut == "gzip" else SAID[after])


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("name", IN_STREAM)
async def test_an_error_event_is_classified_by_its_type(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, name: str, after: int
) -> None:
    provider.will(saying(error=name, after=after))
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is IN_STREAM[name]
    assert heard.failed.status == 200
    assert heard.text == SAID[after]


@pytest.mark.parametrize(("status", "name", "expected"), STATUSES)
async def test_a_status_of_the_messages_wire_is_classified_with_its_body(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, status: int, name: str, expected: F
) -> None:
    provider.will({"status": status, "error": name})
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert (heard.failed.failure, heard.failed.status) == (expected, status)


@pytest.mark.parametrize("reply", ["empty", "whitespace", "reasoning_only"])
async def test_a_message_nobody_could_see_is_empty(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, reply: str
) -> None:
    provider.will({"reply": reply, "pace_ms": 0})
    heard = await hear(client, lane)
    assert heard.failed is not None
    assert heard.failed.failure is F.EMPTY


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd != "no_last_blank"])
async def test_odd_but_lawful_events_change_no_word(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal, *, odd: str
) -> None:
    provider.will(saying(odd=[odd]))
    heard = await hear(client, lane)
    assert heard.failed is None
    ending = " The end." if odd == "finish_with_words" else ""
    assert heard.text == "One" + SLIPPED_IN.get(odd, "") + " two three four five" + ending


async def test_a_whole_message_instead_of_a_stream_is_read_too(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    body = '{"type":"message","model":"m","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn"}'
    provider.will(saying(body=body, content_type="application/json"))
    heard = await hear(client, lane)
    assert heard.text == "Yes."
    assert heard.finished is not None and heard.finished.model == "m"


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
    heard = await hear(client, replace(lane, api_key_env="A_KEY_FOR_TESTS"), ask=ask)
    assert heard.failed is None
    [request] = provider.asked()
    assert request["key_sent"] and "authorization" not in request["headers"]
    assert request["headers"]["anthropic-version"] == "2023-06-01"
    assert [one["role"] for one in request["messages"]] == ["system", "user", "assistant", "user"]
    assert "Robin" in heard.text


async def test_messages_that_do_not_alternate_are_refused_by_the_double_as_by_the_real_one(
    client: httpx.AsyncClient, lane: Lane, provider: Rehearsal
) -> None:
    twice = Message(role="user", text="Hello?")
    heard = await hear(client, lane, ask=Ask(reference="turn-1", messages=(twice, twice)))
    assert heard.failed is not None
    assert heard.failed.failure is F.BAD_REQUEST
