"""The rehearsal provider over real HTTP: its wire as others read it, its orders, its record, its end."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from routing.adapters.transport import build_client
from routing.rehearsal.doors import operator_headers
from routing.rehearsal.error_bodies import ERROR_BODIES
from routing.rehearsal.stamps import read_stamp
from tests.adapters.calls import call_lane, lane_at
from tests.adapters.endings import BODIES
from tests.patience import until
from tests.processes import Rehearsal, start_rehearsal

QUICK = {"pace_ms": 0, "first_word_s": 0}


def ask_without_stream(provider: Rehearsal, *, content: str = "Hello.", **headers: str) -> httpx.Response:
    """Ask for a reply without a stream."""
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    return httpx.post(
        f"{provider.url}/chat/completions", json=body, headers=headers, trust_env=False, verify=False
    )


async def wait_for_request(provider: Rehearsal, so_far: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until the only request satisfies `so_far`; returns its record."""
    [request] = await until(
        lambda: [entry for entry in provider.list_requests() if so_far(entry)], within_s=5
    )
    return request


async def wait_for_end(provider: Rehearsal) -> dict[str, Any]:
    return await wait_for_request(provider, lambda asked: asked["how"] is not None)


def test_every_error_shape_it_knows_is_in_the_matrix_of_endings() -> None:
    assert sorted(BODIES) == sorted(ERROR_BODIES)


def test_an_order_is_for_the_next_so_many_requests_and_in_their_order(provider: Rehearsal) -> None:
    provider.inject({"status": 500}, times=2)
    provider.inject({"status": 529}, times=1)
    assert [ask_without_stream(provider).status_code for _ in range(4)] == [500, 500, 529, 200]


def test_an_order_without_a_number_stands_until_it_is_cleared(provider: Rehearsal) -> None:
    provider.inject({"status": 500})
    assert [ask_without_stream(provider).status_code for _ in range(3)] == [500, 500, 500]
    provider.clear()
    assert ask_without_stream(provider).status_code == 200


def test_an_order_may_be_for_one_reference_or_one_word(provider: Rehearsal) -> None:
    provider.inject({"status": 500}, match="turn-5")
    provider.inject({"status": 503}, match="kettle")
    assert ask_without_stream(provider, **{"X-Request-Id": "turn-4"}).status_code == 200
    assert ask_without_stream(provider, **{"X-Request-Id": "turn-5"}).status_code == 500
    assert ask_without_stream(provider, content="the kettle").status_code == 503


@pytest.mark.parametrize(
    "order", [{"fault": {"cat": 1}}, {"fault": {"error": "no such"}}, {}, [], {"fault": {}, "next": 0}]
)
def test_an_order_that_makes_no_sense_is_refused_and_changes_nothing(
    provider: Rehearsal, *, order: Any
) -> None:
    answer = provider.operator.post("/control", json=order)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert ask_without_stream(provider).status_code == 200


def test_a_directive_is_only_words_unless_it_was_started_with_them(provider: Rehearsal) -> None:
    assert ask_without_stream(provider, content="[[status=500]] hello").status_code == 200
    with start_rehearsal("--directives") as obedient:
        assert ask_without_stream(obedient, content="[[status=500]] hello").status_code == 500
        assert ask_without_stream(obedient, content="hello").status_code == 200


async def test_the_record_says_who_was_asked_what_and_how_it_ended(provider: Rehearsal) -> None:
    provider.inject({"words": 7, **QUICK})
    async with build_client() as client:
        await call_lane(client, lane_at(provider.url))
    asked = await wait_for_end(provider)
    assert asked["request_id"] == "turn-7"
    assert asked["messages"] == [{"role": "user", "content": "I did not sleep."}]
    assert asked["words_sent"] == 7
    assert asked["started"] <= asked["first_byte_at"] <= asked["first_word_at"] <= asked["last_word_at"]
    assert asked["last_word_at"] <= asked["ended"] <= time.perf_counter()


async def test_the_record_tells_a_cut_from_a_client_that_left(provider: Rehearsal) -> None:
    async with build_client() as client:
        provider.inject({"cut": "fin", "after": 2, **QUICK})
        await call_lane(client, lane_at(provider.url))
        assert (await wait_for_end(provider))["how"] == "cut"
        provider.clear()
        provider.inject({"hang": "after_words", "after": 2, **QUICK})
        task = asyncio.create_task(call_lane(client, lane_at(provider.url)))
        await wait_for_request(provider, lambda asked: asked["words_sent"] == 2)
        left = time.perf_counter()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        asked = await wait_for_end(provider)
    assert asked["how"] == "client_closed"
    assert asked["ended"] - left < 0.2


async def test_the_gauge_shows_how_many_ran_at_once(provider: Rehearsal) -> None:
    provider.inject({"words": 5, "pace_ms": 20, "first_word_s": 0.2})
    async with build_client() as client:
        await asyncio.gather(*(call_lane(client, lane_at(provider.url)) for _ in range(12)))
    gauge = provider.read_gauge()
    assert gauge["max_in_flight"] == 12
    assert gauge["in_flight"] == 0


async def test_a_stamped_word_is_the_moment_it_was_sent(provider: Rehearsal) -> None:
    provider.inject({"stamp": True, "words": 5, "pace_ms": 20, "even": True, "first_word_s": 0})
    before = time.perf_counter()
    async with build_client() as client:
        record = await call_lane(client, lane_at(provider.url))
    stamps = [read_stamp(stamp) for stamp in record.text.split()]
    assert before <= stamps[0]
    assert stamps[-1] <= time.perf_counter()
    assert all(0.01 < b - a < 0.2 for a, b in pairwise(stamps))


async def test_a_given_text_is_sent_in_the_pieces_that_were_asked_for(provider: Rehearsal) -> None:
    provider.inject({"say": "abcdefg", "split": 3, "pace_ms": 30, "first_word_s": 0})
    async with build_client() as client:
        record = await call_lane(client, lane_at(provider.url))
    assert record.pieces == ["abc", "def", "g"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_cleanly_and_at_once_though_a_stream_is_open(number: signal.Signals) -> None:
    with start_rehearsal() as provider:
        provider.inject({"hang": "after_words", "after": 1, **QUICK})
        async with build_client() as client:
            task = asyncio.create_task(call_lane(client, lane_at(provider.url)))
            await wait_for_request(provider, lambda asked: asked["words_sent"] == 1)
            provider.signal(number)
            assert provider.process.wait(5) == 0
            record = await asyncio.wait_for(task, 5)
        assert record.failed is not None
        # Its log holds no words of a conversation.
        assert provider.log_text == ""


def test_a_request_it_cannot_read_gets_an_answer(provider: Rehearsal) -> None:
    for content in (b"", b"null", b"{}", json.dumps({"messages": [{"role": "user"}]}).encode()):
        answer = httpx.post(
            f"{provider.url}/chat/completions", content=content, trust_env=False, verify=False
        )
        assert answer.status_code == 400
    assert provider.read_gauge()["in_flight"] == 0


DOORS = [(method, path) for path in ("/control", "/asked", "/gauge") for method in ("GET", "POST", "DELETE")]


@pytest.mark.parametrize(("method", "path"), DOORS)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer guessed"}, 401),
        ({"Host": "attacker.example"}, 421),
        ({"Host": "127.0.0.1.attacker.example:80"}, 421),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_its_doors_are_open_to_its_token_alone_and_to_no_page(
    provider: Rehearsal, *, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = provider.operator.request(method, path, headers=headers, json={"fault": {"status": 500}})
    assert answer.status_code == status
    assert "asked" not in answer.text and "in_flight" not in answer.text
    assert ask_without_stream(provider).status_code == 200


def test_no_page_makes_it_answer(provider: Rehearsal) -> None:
    assert ask_without_stream(provider, Origin="http://attacker.example").status_code == 403
    assert provider.list_requests() == []


def test_its_token_is_new_at_every_start_and_for_its_own_account_alone(tmp_path: Path) -> None:
    tokens = []
    for _ in range(2):
        with start_rehearsal("--token-dir", str(tmp_path)) as started:
            [file] = tmp_path.iterdir()
            assert file.stat().st_mode & 0o777 == 0o600
            tokens.append(file.read_text())
            command = Path(f"/proc/{started.process.pid}/cmdline").read_text()
            environment = Path(f"/proc/{started.process.pid}/environ").read_text()
            assert tokens[-1] not in command + environment + started.log_text
            started.end()
        assert list(tmp_path.iterdir()) == []
    assert len(set(tokens)) == 2 and all(len(token) >= 32 for token in tokens)


def test_a_link_in_the_place_of_its_token_is_not_followed(tmp_path: Path) -> None:
    with start_rehearsal("--token-dir", str(tmp_path)) as first:
        port = first.url.rsplit(":", 1)[1].split("/")[0]
        first.end()
    target = tmp_path / "precious"
    target.write_text("kept")
    (tmp_path / f"rehearsal-{port}.token").symlink_to(target)
    with start_rehearsal("--token-dir", str(tmp_path), "--port", port):
        assert target.read_text() == "kept"
        assert not (tmp_path / f"rehearsal-{port}.token").is_symlink()


def test_without_a_folder_for_its_token_its_doors_are_shut(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with start_rehearsal("--token-dir", str(blocked)) as shut:
        assert [shut.operator.request(method, path).status_code for method, path in DOORS] == [404] * len(
            DOORS
        )
        assert ask_without_stream(shut).status_code == 200


def test_what_is_said_is_kept_nowhere_unless_that_was_asked_for(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "routing.rehearsal",
        "--port",
        "0",
        "--first-word-ms",
        "1",
        "--token-dir",
    ]
    with subprocess.Popen([*command, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("rehearsal: ").strip()
            headers = operator_headers(tmp_path, url)
            with httpx.Client(base_url=url.removesuffix("/v1"), headers=headers, trust_env=False) as operator:
                ask = partial(operator.post, "/v1/chat/completions", headers={"Authorization": ""})
                for text in ("I did not sleep.", "A story. (mark-4711-mark)"):
                    ask(json={"messages": [{"role": "user", "content": text}]}).raise_for_status()
                    assert "sleep" not in operator.get("/asked").text + operator.get("/control").text
                    operator.post("/asked", json={"mark": "mark-4711-mark"}).raise_for_status()
                told = operator.get("/asked").json()
                assert [one["messages"] for one in told] == [
                    [],
                    [{"role": "user", "content": "A story. (mark-4711-mark)"}],
                ]
                assert operator.post("/asked", json={"mark": "a"}).status_code == 400
        finally:
            process.terminate()
