"""How many tokens a call took is read where the wire tells it, and never guessed (R13)."""

from decimal import Decimal
from typing import Any

import pytest

from routing.adapters.anthropic import MessagesReader
from routing.adapters.openai import ChatReader, OpenAIAdapter
from routing.adapters.reader import StreamReader
from routing.contracts import Ask, Message, Prices, Usage
from routing.errors import RoutingFileInvalid
from routing.lanes import parse
from tests.chains import lane, lane_text
from tests.unit.wires import CHAT_STOP, chat_event, chat_words, message_event, message_words, read_by

TOLD = {"prompt_tokens": 812, "completion_tokens": 34, "total_tokens": 846}
LAST = b'data: {"choices":[],"usage":{"prompt_tokens":812,"completion_tokens":34}}\n\n'
DONE = b"data: [DONE]\n\n"
USAGE = Usage(input_tokens=812, output_tokens=34)
NORMAL = '[presets.normal]\nchain = ["one"]\n'


def usage_of(reader: StreamReader, *pieces: bytes) -> Usage | None:
    _, ending = read_by(reader, *pieces)
    assert ending is not None and ending.failure is None
    return reader.usage


@pytest.mark.parametrize(
    "pieces",
    [
        (chat_words("Hello."), CHAT_STOP + LAST + DONE),
        (chat_words("Hello."), chat_event({}, "stop", usage=TOLD) + DONE),
        (chat_event({"content": "Hello."}, "stop", usage=TOLD),),
        (chat_event({"content": "Hel"}, usage={"prompt_tokens": 812, "completion_tokens": 1}),
         chat_event({"content": "lo."}, usage=TOLD), CHAT_STOP),
    ],
    ids=["after the end", "with the end", "with the only words", "with every chunk"],
)  # fmt: skip
def test_a_chat_completion_tells_it_wherever_servers_put_it(pieces: tuple[bytes, ...]) -> None:
    assert usage_of(ChatReader(), *pieces) == USAGE


@pytest.mark.parametrize(
    "told",
    [None, {}, "812", {"prompt_tokens": 812}, {"prompt_tokens": -1, "completion_tokens": 2},
     {"prompt_tokens": True, "completion_tokens": 2}, {"prompt_tokens": 1.5, "completion_tokens": 2},
     {"prompt_tokens": 10**12, "completion_tokens": 2}],
)  # fmt: skip
def test_what_is_no_count_is_not_told(told: Any) -> None:
    assert usage_of(ChatReader(), chat_words("Hello."), chat_event({}, "stop", usage=told)) is None


def test_a_count_that_came_before_more_text_is_not_that_of_the_reply() -> None:
    early = chat_event({"content": "Hel"}, usage={"prompt_tokens": 812, "completion_tokens": 1})
    assert usage_of(ChatReader(), early, chat_words("lo."), CHAT_STOP) is None


def test_after_the_end_more_is_read_for_the_usage_alone() -> None:
    reader = ChatReader()
    assert usage_of(reader, chat_words("Hello."), CHAT_STOP) is None
    assert reader.feed_usage(LAST[:20])
    assert not reader.feed_usage(LAST[20:])
    assert reader.usage == USAGE


def test_a_lane_that_never_tells_is_left_when_it_says_that_it_is_done() -> None:
    reader = ChatReader()
    usage_of(reader, chat_words("Hello."), CHAT_STOP)
    assert not reader.feed_usage(DONE)


def test_a_message_tells_what_was_sent_at_its_start_and_what_was_said_at_its_end() -> None:
    sent = {
        "input_tokens": 800,
        "cache_read_input_tokens": 12,
        "cache_creation_input_tokens": None,
        "output_tokens": 1,
    }
    pieces = (
        message_event("message_start", message={"model": "m", "usage": sent}),
        message_words("Hello."),
        message_event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 34}),
    )
    assert usage_of(MessagesReader(), *pieces) == USAGE
    assert usage_of(MessagesReader(), *pieces[1:]) is None


@pytest.mark.parametrize("usage", ["by_itself", "asked"])
def test_it_is_asked_for_only_where_the_lane_says_that_it_understands(
    clientless_adapter: Any, *, usage: Any
) -> None:
    ask = Ask(reference="turn-1", messages=(Message(role="user", text="Hello."),))
    body = clientless_adapter.body(lane("one", usage=usage), ask)
    assert (b'"stream_options": {"include_usage": true}' in body) is (usage == "asked")


@pytest.fixture
def clientless_adapter() -> OpenAIAdapter:
    """An adapter without a client, which only builds requests."""
    return OpenAIAdapter(None)  # type: ignore[arg-type]


def write_prices(**changes: str) -> str:
    keys = {
        "input_price_per_million": "0.15",
        "output_price_per_million": "0.6",
        "currency": '"USD"',
        **changes,
    }
    lines = [f"{key} = {value}" for key, value in keys.items() if value]
    return lane_text("one").rstrip() + "\n" + "\n".join(lines) + "\n\n" + NORMAL


def test_prices_stand_with_the_lane_and_say_what_tokens_cost() -> None:
    prices = parse(write_prices(), source="file").lanes["one"].prices
    assert prices == Prices(
        input_per_million=Decimal("0.15"), output_per_million=Decimal("0.6"), currency="USD"
    )
    assert prices.cost(input_tokens=2_000_000, output_tokens=500_000) == Decimal("0.6")
    assert parse(lane_text("one") + NORMAL, source="file").lanes["one"].prices is None


@pytest.mark.parametrize(
    "changes, says",
    [
        (
            {"currency": ""},
            "lanes.one.input_price_per_million: says nothing by itself. Add currency, or remove it.",
        ),
        ({"input_price_per_million": ""}, "Add input_price_per_million"),
        ({"output_price_per_million": "-1"}, "lanes.one.output_price_per_million"),
        ({"output_price_per_million": "nan"}, "lanes.one.output_price_per_million"),
        ({"currency": '"dollars"'}, "lanes.one.currency"),
    ],
)
def test_half_a_price_is_refused_with_its_place(changes: dict[str, str], says: str) -> None:
    with pytest.raises(RoutingFileInvalid) as refusal:
        parse(write_prices(**changes), source="file")
    assert says in str(refusal.value)


def test_the_messages_wire_need_not_be_asked() -> None:
    text = lane_text("one", adapter="anthropic").rstrip() + '\nusage = "asked"\n' + NORMAL
    with pytest.raises(RoutingFileInvalid, match="tells it by itself"):
        parse(text, source="file")


def test_a_lane_is_cheaper_if_every_call_costs_less() -> None:
    def prices(read: str, written: str, currency: str = "USD") -> Prices:
        return Prices(input_per_million=Decimal(read), output_per_million=Decimal(written), currency=currency)

    assert prices("1", "4").is_below(prices("2", "4"))
    assert not prices("1", "5").is_below(prices("2", "4"))
    assert not prices("2", "4").is_below(prices("2", "4"))
    assert not prices("1", "1", "EUR").is_below(prices("2", "4"))
