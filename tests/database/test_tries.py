"""Sign-ins that did not fit, counted in a real Valkey; and nobody is kept out because it is away."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import redis

from companion.tries import NOT_ASKED_S, WITHIN_S, Tries
from ops.stack.valkey import EmbeddedValkey
from tests.people import People
from tests.processes import Web
from tests.staff import sign_in

HERE, ELSEWHERE = "192.0.2.7", "192.0.2.8"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The url of a Valkey of our own."""
    server = EmbeddedValkey(tmp_path_factory.mktemp("tries") / "valkey")
    yield server.start()
    server.stop()


@pytest.fixture
def client(valkey: str) -> Iterator["redis.Redis"]:
    """A connection to it; it holds nothing yet."""
    with redis.Redis.from_url(valkey, socket_timeout=5) as client:
        client.flushall()
        yield client


def test_so_many_that_did_not_fit_are_allowed_and_no_more(client: "redis.Redis") -> None:
    tries = Tries(client, most=3, now=time.monotonic)
    for _ in range(3):
        assert tries.allows(HERE)
        tries.did_not_fit(HERE)

    assert not tries.allows(HERE)
    assert tries.allows(ELSEWHERE)


def test_the_count_goes_by_itself_and_a_further_try_does_not_prolong_it(client: "redis.Redis") -> None:
    tries = Tries(client, most=3, now=time.monotonic)
    tries.did_not_fit(HERE)
    [key] = client.scan_iter("tries:*")
    client.expire(key, 100)
    tries.did_not_fit(HERE)

    assert 0 < client.ttl(key) <= 100 < WITHIN_S


def test_what_is_counted_names_no_address(client: "redis.Redis") -> None:
    Tries(client, most=3, now=time.monotonic).did_not_fit(HERE)

    assert not any(HERE.encode() in key for key in client.scan_iter("*"))


def test_all_addresses_of_one_ipv6_network_count_as_one(client: "redis.Redis") -> None:
    tries = Tries(client, most=1, now=time.monotonic)
    tries.did_not_fit("2001:db8:1:2::1")

    assert not tries.allows("2001:db8:1:2:ffff::9")
    assert tries.allows("2001:db8:1:3::1")


def test_while_it_is_away_everybody_is_let_in_and_it_is_not_asked_at_every_door(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    nobody = redis.Redis(host="127.0.0.1", port=9, socket_timeout=0.3, socket_connect_timeout=0.3)
    tries = Tries(nobody, most=1, now=clock)
    for _ in range(5):
        tries.did_not_fit(HERE)
        assert tries.allows(HERE)
    assert caplog.text.count("tries.not_counted") == 1
    clock.now += NOT_ASKED_S
    assert tries.allows(HERE)
    assert caplog.text.count("tries.not_counted") == 2


def test_it_is_asked_again_when_it_may_be_back(tmp_path: Path) -> None:
    clock, server = Clock(), EmbeddedValkey(tmp_path / "valkey")
    url = server.start()
    with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
        tries = Tries(client, most=1, now=clock)
        tries.did_not_fit(HERE)
        server.stop()
        assert tries.allows(HERE)
        assert server.start() == url
        # It may have lost everything, and then it counts anew.
        assert tries.allows(HERE)
        clock.now += NOT_ASKED_S
        tries.did_not_fit(HERE)
        assert not tries.allows(HERE)
        server.stop()


@pytest.fixture
def guarded(another_web: Callable[..., Web], valkey: str, client: "redis.Redis") -> Web:
    """A web process that allows three tries."""
    return another_web(VALKEY_URL=valkey, COMPANION_SIGN_IN_TRIES="3")


def test_after_too_many_wrong_cards_even_a_right_one_gets_the_drafted_answer(
    guarded: Web, people: People
) -> None:
    rosa = people.rosa
    with httpx.Client(base_url=guarded.url, trust_env=False) as browser:
        for _ in range(3):
            assert browser.get("/card/aaaaaa-bbbbbb-cccccc/").status_code == 403
        answer = browser.get(f"/card/{rosa.card}/")
        assert answer.status_code == 429
        assert "Please ask the staff to help." in answer.text
        form = {"code": rosa.card, "csrfmiddlewaretoken": token_of(browser)}
        typed = browser.post("/card/", data=form, headers={"Origin": guarded.url})
        assert typed.status_code == 429


def test_right_cards_are_never_counted_however_many_come_from_one_house(guarded: Web, people: People) -> None:
    for _ in range(5):
        people.rosa.sign_in(guarded.url)


def test_staff_who_tried_too_many_passwords_are_told_so(guarded: Web, people: People) -> None:
    sam = people.sam()
    with httpx.Client(base_url=guarded.url, trust_env=False) as desk:
        desk.get("/staff/sign-in/")
        for _ in range(3):
            assert "Not signed in." in sign_in(desk, sam.get_username(), "wrong").text
        answer = sign_in(desk, sam.get_username(), people.password)
        assert answer.status_code == 429
        assert "Too many tries from here." in answer.text


@pytest.mark.parametrize(("behind", "status"), [("yes", 403), ("no", 429)])
def test_the_address_a_caller_claims_counts_only_behind_a_proxy(
    another_web: Callable[..., Web], valkey: str, client: "redis.Redis", behind: str, status: int
) -> None:
    web = another_web(VALKEY_URL=valkey, COMPANION_SIGN_IN_TRIES="2", COMPANION_BEHIND_PROXY=behind)
    answers = [
        httpx.get(
            f"{web.url}/card/aaaaaa-bbbbbb-cccccc/",
            headers={"X-Real-IP": f"198.51.100.{number}"},
            trust_env=False,
        ).status_code
        for number in range(4)
    ]
    assert answers == [403, 403, status, status]


def token_of(browser: httpx.Client) -> str:
    browser.get("/card/")
    return browser.cookies["csrftoken"]
