"""The official client libraries read the rehearsal provider's streams without complaint: our double is honest."""

from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from tests.processes import Rehearsal

if TYPE_CHECKING:
    # Fixtures import them: each takes seconds, and every worker collects this file.
    import anthropic
    import openai

QUESTION = "I did not sleep."
TEXT_AFTER = {"say": "Nights can feel long, שלום 👩🏽‍🚀.", "pace_ms": 0, "first_word_s": 0, "reasoning": 2}


@pytest.fixture
async def chat(provider: Rehearsal) -> AsyncIterator["openai.AsyncOpenAI"]:
    import openai

    plain = openai.DefaultAsyncHttpxClient(trust_env=False, verify=False)
    async with openai.AsyncOpenAI(
        api_key="none", base_url=provider.url, http_client=plain, max_retries=0
    ) as client:
        yield client


@pytest.fixture
async def messages(provider: Rehearsal) -> AsyncIterator["anthropic.AsyncAnthropic"]:
    import anthropic

    plain = anthropic.DefaultAsyncHttpxClient(trust_env=False, verify=False)
    root = provider.url.removesuffix("/v1")
    async with anthropic.AsyncAnthropic(
        api_key="none", base_url=root, http_client=plain, max_retries=0
    ) as client:
        yield client


async def test_the_openai_client_reads_a_stream_to_its_finish(
    chat: "openai.AsyncOpenAI", provider: Rehearsal
) -> None:
    provider.inject(TEXT_AFTER)
    stream = await chat.chat.completions.create(
        model="rehearsal-1", messages=[{"role": "user", "content": QUESTION}], stream=True
    )
    said, finishes = "", []
    async for chunk in stream:
        for choice in chunk.choices:
            said += choice.delta.content or ""
            finishes.append(choice.finish_reason)
    assert said == TEXT_AFTER["say"]
    assert [reason for reason in finishes if reason] == ["stop"]


async def test_the_openai_client_reads_a_whole_answer_and_the_names_of_the_models(
    chat: "openai.AsyncOpenAI",
) -> None:
    answer = await chat.chat.completions.create(
        model="rehearsal-1", messages=[{"role": "user", "content": QUESTION}]
    )
    assert answer.choices[0].finish_reason == "stop"
    assert len((answer.choices[0].message.content or "").split()) > 20
    assert [model.id async for model in chat.models.list()] == ["rehearsal-1"]


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (400, "bad_request", "BadRequestError"),
        (401, "invalid_key", "AuthenticationError"),
        (404, "model_not_found", "NotFoundError"),
        (429, "rate_limit", "RateLimitError"),
        (503, "server_error", "InternalServerError"),
    ],
)
async def test_the_openai_client_knows_every_error(
    chat: "openai.AsyncOpenAI", provider: Rehearsal, *, status: int, error: str, expected: str
) -> None:
    provider.inject({"status": status, "error": error})
    with pytest.raises(getattr(import_module("openai"), expected)):
        await chat.chat.completions.create(
            model="rehearsal-1", messages=[{"role": "user", "content": QUESTION}], stream=True
        )


async def test_the_openai_client_raises_an_error_inside_a_stream(
    chat: "openai.AsyncOpenAI", provider: Rehearsal
) -> None:
    provider.inject({"error": "server_error", "after": 3, "pace_ms": 0})
    stream = await chat.chat.completions.create(
        model="rehearsal-1", messages=[{"role": "user", "content": QUESTION}], stream=True
    )
    with pytest.raises(import_module("openai").APIError):
        _ = [chunk async for chunk in stream]


async def test_the_anthropic_client_puts_a_stream_together_to_its_stop_reason(
    messages: "anthropic.AsyncAnthropic", provider: Rehearsal
) -> None:
    provider.inject(TEXT_AFTER)
    async with messages.messages.stream(
        model="rehearsal-1",
        max_tokens=400,
        system="You are Robin.",
        messages=[{"role": "user", "content": QUESTION}],
    ) as stream:
        said = "".join([text async for text in stream.text_stream])
        whole = await stream.get_final_message()
    assert said == TEXT_AFTER["say"]
    assert whole.stop_reason == "end_turn"
    assert [block.type for block in whole.content] == ["thinking", "text"]
    assert whole.model == "rehearsal-1"


async def test_the_anthropic_client_reads_a_whole_answer(messages: "anthropic.AsyncAnthropic") -> None:
    answer = await messages.messages.create(
        model="rehearsal-1", max_tokens=400, messages=[{"role": "user", "content": QUESTION}]
    )
    assert answer.stop_reason == "end_turn"
    assert answer.content[0].type == "text"


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (400, "anthropic_invalid", "BadRequestError"),
        (401, "anthropic_authentication", "AuthenticationError"),
        (429, "anthropic_rate_limit", "RateLimitError"),
        (529, "anthropic_overloaded", "InternalServerError"),
    ],
)
async def test_the_anthropic_client_knows_every_error(
    messages: "anthropic.AsyncAnthropic",
    provider: Rehearsal,
    *,
    status: int,
    error: str,
    expected: str,
) -> None:
    provider.inject({"status": status, "error": error})
    with pytest.raises(getattr(import_module("anthropic"), expected)):
        await messages.messages.create(
            model="rehearsal-1",
            max_tokens=400,
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
        )


async def test_the_anthropic_client_raises_an_error_inside_a_stream(
    messages: "anthropic.AsyncAnthropic", provider: Rehearsal
) -> None:
    provider.inject({"error": "anthropic_overloaded", "after": 3, "pace_ms": 0})
    stream = await messages.messages.create(
        model="rehearsal-1",
        max_tokens=400,
        messages=[{"role": "user", "content": QUESTION}],
        stream=True,
    )
    with pytest.raises(import_module("anthropic").APIStatusError):
        _ = [event async for event in stream]
