"""The rehearsal provider's log: what it was asked, each piece it sent, and how each answer ended."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from routing.adapters.transport import build_client
from routing.contracts import Ask, Message
from routing.rehearsal.script import coded_reply
from tests.adapters.calls import CLOCKS, CallRecord, call_lane, lane_at
from tests.patience import until
from tests.processes import Rehearsal, start_rehearsal

QUESTION = "What could I cook today? kestrel-17-4"


@contextmanager
def start_logged(log: Path) -> Iterator[Rehearsal]:
    with start_rehearsal("--log", str(log), "--coded") as provider:
        yield provider


async def ask(provider: Rehearsal, *, first_word_s: float = 5.0) -> CallRecord:
    """Ask QUESTION as turn 7."""
    asked = Ask(reference="turn-7", messages=(Message(role="user", text=QUESTION),))
    async with build_client() as client:
        clocks = replace(CLOCKS, first_word_s=first_word_s)
        return await call_lane(client, lane_at(provider.url), ask=asked, clocks=clocks)


def read_log(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_code_is_answered_with_its_numbered_words() -> None:
    assert coded_reply("Hello. kestrel-17-3", words=3) == "kestrel-17-3.1 kestrel-17-3.2 kestrel-17-3.3"


def test_several_codes_are_answered_in_order() -> None:
    asked = "Answer the earlier question first.\n\nOne? wren-2-1\n\nTwo? wren-2-2"
    assert coded_reply(asked, words=3) == "wren-2-1.1 wren-2-1.2 wren-2-2.1"


@pytest.mark.parametrize("text", ["Hello.", "a well-known 7-3 score", "kestrel-17"])
def test_without_a_code_it_gives_no_coded_reply(text: str) -> None:
    assert coded_reply(text) == ""


async def test_the_log_has_the_prompt_each_piece_and_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with start_logged(log) as provider:
        replied = await ask(provider)
        events = await until(lambda: [one for one in read_log(log) if one["what"] == "finished"], within_s=5)
        logged = read_log(log)
    assert events[0]["reason"] == "stop"
    asked = logged[0]
    assert (asked["what"], asked["request"]) == ("asked", "turn-7")
    assert asked["messages"][-1] == {"role": "user", "content": QUESTION}
    said = "".join(one["text"] for one in logged if one["what"] == "piece")
    assert said == replied.text == coded_reply(QUESTION)
    assert [one["at"] for one in logged] == sorted(one["at"] for one in logged)


async def test_the_log_tells_a_cut_from_a_client_that_leaves(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with start_logged(log) as provider:
        provider.inject({"cut": "reset", "after": 2}, times=1)
        await ask(provider)
        provider.inject({"hang": "before_word"}, times=1)
        await ask(provider, first_word_s=0.3)
        await until(lambda: [one for one in read_log(log) if one["what"] == "left"], within_s=5)
    ends = [(one["what"], one.get("kind")) for one in read_log(log) if one["what"] not in ("asked", "piece")]
    assert ends == [("broke", "cut reset"), ("left", None)]
