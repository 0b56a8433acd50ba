"""Sign-ins that did not fit, counted in a real Valkey; while it is away every person may sign in."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import redis
from django.contrib.auth.hashers import make_password
from django.test import override_settings

from companion.machines.pairing import print_code
from companion.throttle import (
    NAMES_PER_ADDRESS,
    RETRY_AFTER_S,
    TYPED_CODES_PER_ADDRESS,
    WINDOW_S,
    SignInThrottle,
)
from ops.project.wiring.pages import build_throttle
from ops.stack.valkey import EmbeddedValkey
from tests.machines import add_machine, open_browser
from tests.people import People, in_database
from tests.processes import Rehearsal, Web, start_web
from tests.staff import open_staff_client, sign_in

HERE, ELSEWHERE = "192.0.2.7", "192.0.2.8"
WRONG = "aaaaaa-bbbbbb-cccccc"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The url of a Valkey of our own."""
    server = EmbeddedValkey(tmp_path_factory.mktemp("throttle") / "valkey")
    yield server.start()
    server.stop()


@pytest.fixture
def client(valkey: str) -> Iterator["redis.Redis"]:
    """A connection to it; it holds nothing yet."""
    with redis.Redis.from_url(valkey, socket_timeout=5) as client:
        client.flushall()
        yield client


def test_so_many_cards_that_did_not_fit_are_allowed_and_no_more(client: "redis.Redis") -> None:
    throttle = SignInThrottle(client, most=3, now=time.monotonic)

    assert [throttle.count_failure(HERE) for _ in range(5)] == [True, True, True, False, False]
    assert throttle.count_failure(ELSEWHERE)


def test_pairing_codes_typed_on_screens_are_counted_by_address_and_apart_from_cards(
    client: "redis.Redis",
) -> None:
    throttle = SignInThrottle(client, most=1, now=time.monotonic)
    throttle.count_failure(HERE)
    throttle.count_failure(HERE)
    allowed = [throttle.count_typed_code(HERE) for _ in range(TYPED_CODES_PER_ADDRESS + 1)]

    assert allowed == [True] * TYPED_CODES_PER_ADDRESS + [False]
    assert throttle.count_typed_code(ELSEWHERE)


def test_the_count_goes_by_itself_and_a_further_try_does_not_prolong_it(client: "redis.Redis") -> None:
    throttle = SignInThrottle(client, most=3, now=time.monotonic)
    throttle.count_failure(HERE)
    [key] = client.scan_iter("throttle:*")
    client.expire(key, 100)
    throttle.count_failure(HERE)

    assert 0 < client.ttl(key) <= 100 < WINDOW_S


def test_passwords_are_counted_by_name_and_address_and_apart_from_cards(client: "redis.Redis") -> None:
    throttle = SignInThrottle(client, most=2, now=time.monotonic)
    for _ in range(5):
        throttle.count_failure(HERE)

    assert [throttle.reserve("sam", HERE) for _ in range(3)] == [True, True, False]
    assert not throttle.reserve(" SAM", HERE)
    assert throttle.reserve("ines", HERE)
    assert throttle.reserve("sam", ELSEWHERE)


def test_a_password_that_fits_is_not_counted_and_its_key_still_goes_by_itself(client: "redis.Redis") -> None:
    throttle = SignInThrottle(client, most=2, now=time.monotonic)
    for _ in range(9):
        assert throttle.reserve("sam", HERE)
        throttle.release("sam", HERE)
    client.flushall()
    throttle.release("sam", HERE)

    assert all(0 < client.ttl(key) <= WINDOW_S for key in client.scan_iter("throttle:*"))


def test_one_address_cannot_go_through_all_names(client: "redis.Redis") -> None:
    throttle = SignInThrottle(client, most=2, now=time.monotonic)
    allowed = [throttle.reserve(f"name {number}", HERE) for number in range(2 * NAMES_PER_ADDRESS + 2)]

    assert allowed.count(False) == 2
    assert throttle.reserve("sam", ELSEWHERE)


def test_more_tries_at_once_than_there_are_connections_do_not_switch_the_limit_off(
    valkey: str, client: "redis.Redis", caplog: pytest.LogCaptureFixture
) -> None:
    with override_settings(VALKEY_URL=valkey, COMPANION_SIGN_IN_TRIES=10):
        throttle = build_throttle.__wrapped__()
    with ThreadPoolExecutor(16) as threads:
        allowed = list(threads.map(lambda _: throttle.reserve("sam", HERE), range(60)))

    assert allowed.count(True) == 10
    assert "throttle.not_counted" not in caplog.text


def test_what_is_counted_names_no_address(client: "redis.Redis") -> None:
    SignInThrottle(client, most=3, now=time.monotonic).count_failure(HERE)

    assert not any(HERE.encode() in key for key in client.scan_iter("*"))


def test_all_addresses_of_one_ipv6_network_count_as_one(client: "redis.Redis") -> None:
    throttle = SignInThrottle(client, most=1, now=time.monotonic)
    throttle.count_failure("2001:db8:1:2::1")

    assert not throttle.count_failure("2001:db8:1:2:ffff::9")
    assert throttle.count_failure("2001:db8:1:3::1")


def test_an_ipv4_address_written_as_ipv6_is_that_address_and_no_neighbour_of_others(
    client: "redis.Redis",
) -> None:
    throttle = SignInThrottle(client, most=1, now=time.monotonic)
    throttle.count_failure(f"::ffff:{HERE}")

    assert not throttle.count_failure(HERE)
    assert throttle.count_failure(f"::ffff:{ELSEWHERE}")


def test_while_it_is_away_everybody_is_let_in_and_it_is_not_asked_at_every_door(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    away = redis.Redis(connection_pool=redis.ConnectionPool(host="127.0.0.1", port=9))
    throttle = SignInThrottle(away, most=1, now=clock)
    for _ in range(5):
        assert throttle.count_failure(HERE)
        assert throttle.reserve("sam", HERE)
        throttle.release("sam", HERE)
    assert caplog.text.count("throttle.not_counted") == 1
    clock.now += RETRY_AFTER_S
    assert throttle.count_failure(HERE)
    assert caplog.text.count("throttle.not_counted") == 2


def test_it_is_asked_again_when_it_may_be_back(tmp_path: Path) -> None:
    clock, server = Clock(), EmbeddedValkey(tmp_path / "valkey")
    url = server.start()
    with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
        throttle = SignInThrottle(client, most=1, now=clock)
        assert throttle.count_failure(HERE)
        assert not throttle.count_failure(HERE)
        server.stop()
        assert throttle.count_failure(HERE)
        assert server.start() == url
        clock.now += RETRY_AFTER_S
        # It may have lost everything, and then it counts anew.
        throttle.count_failure(HERE)
        assert not throttle.count_failure(HERE)
        server.stop()


@pytest.fixture(scope="module")
def _guarded(database: object, _rehearsal: Rehearsal, valkey: str) -> Iterator[Web]:
    with start_web(_rehearsal, VALKEY_URL=valkey, COMPANION_SIGN_IN_TRIES="3") as web:
        yield web


@pytest.fixture
def guarded(_guarded: Web, client: "redis.Redis") -> Web:
    """A web process that allows three failed sign-ins; none has been counted yet."""
    return _guarded


def test_after_too_many_wrong_codes_the_drafted_answer_comes_and_a_right_card_still_opens(
    guarded: Web, people: People
) -> None:
    with httpx.Client(base_url=guarded.url, trust_env=False) as browser:
        assert [type_code(browser, WRONG).status_code for _ in range(5)] == [403, 403, 403, 429, 429]
        assert "Please ask the staff to help." in type_code(browser, WRONG).text
        assert type_code(browser, people.rosa.card.code).status_code == 302
    people.rosa.sign_in(guarded.url)


def test_wrong_codes_on_locked_pages_are_counted_for_the_machine_and_not_for_its_address(
    guarded: Web, people: People
) -> None:
    statuses = []
    for name, person in (("Front", people.rosa), ("Back", people.add_participant("Tomas"))):
        browser, _ = add_machine(guarded, people.site, name)
        browser.post("/card/", code=person.card.code)
        browser.post("/chat/lock/", proof="x")
        statuses.append([browser.post("/locked/", code=WRONG).status_code for _ in range(4)])

    assert statuses == [[403, 403, 403, 429]] * 2


def test_a_pairing_code_that_is_right_is_not_looked_up_after_too_many_guesses(
    guarded: Web, people: People
) -> None:
    _, code = in_database(lambda: print_code(site=people.site.pk, name="Hall", by="Ines"))
    browser = open_browser(guarded)
    for _ in range(TYPED_CODES_PER_ADDRESS):
        assert browser.post("/machine/claim/", code="aaaa-aaaa").status_code == 403

    assert "Please ask the staff to help." in browser.post("/machine/claim/", code=code).text
    # Wrong codes of machines are no wrong cards.
    with httpx.Client(base_url=guarded.url, trust_env=False) as other:
        assert type_code(other, WRONG).status_code == 403


def test_addresses_of_cards_that_a_foreign_page_asks_for_are_no_tries(guarded: Web) -> None:
    with httpx.Client(base_url=guarded.url, trust_env=False) as browser:
        for _ in range(9):
            browser.get(f"/card/{WRONG}/", headers={"Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"})
        foreign = {"Origin": "https://elsewhere.example"}
        for _ in range(9):
            assert browser.post("/card/", data={"code": WRONG}, headers=foreign).status_code == 403
        assert type_code(browser, WRONG).status_code == 403


GUESSES = [
    {"Sec-Purpose": "prefetch"},
    {"Sec-Purpose": "Prefetch;Prerender"},
    {"Purpose": "PREFETCH"},
    {"X-Moz": "prefetch"},
    {"X-Purpose": "preview"},
    {"Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Site": "cross-site"},
    {"User-Agent": "facebookexternalhit/1.1"},
    {},
]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_nothing_that_only_looks_opens_or_ends_a_visit_or_counts_as_a_try(
    guarded: Web, people: People, method: str
) -> None:
    rosa, otto = people.rosa, people.otto
    with httpx.Client(base_url=guarded.url, trust_env=False) as browser:
        assert type_code(browser, rosa.card.code).headers["location"] == "/chat/"
        for header in GUESSES:
            for path in ("/card/", f"/card/{otto.card.link}/", f"/card/{otto.card.code}/", "/card/nonsense/"):
                browser.request(method, path, headers=header)
        assert browser.get("/chat/turns/?after=0").json()["conversation"] == rosa.conversation.pk
        assert type_code(browser, otto.card.code).headers["location"] == "/chat/"


def test_right_cards_are_never_counted_however_many_come_from_one_house(guarded: Web, people: People) -> None:
    for _ in range(5):
        people.rosa.sign_in(guarded.url)


def test_staff_who_tried_too_many_passwords_are_told_so_and_a_colleague_signs_in(
    guarded: Web, people: People
) -> None:
    sam, ines = people.add_sam(), people.add_ines()
    with httpx.Client(base_url=guarded.url, trust_env=False) as staff_client:
        staff_client.get("/staff/sign-in/")
        for _ in range(3):
            assert "Not signed in." in sign_in(staff_client, sam.get_username(), "wrong").text
        answer = sign_in(staff_client, sam.get_username(), people.password)
        assert answer.status_code == 429
        assert "Too many tries from here." in answer.text
        assert sign_in(staff_client, ines.get_username(), people.password).status_code == 302


def test_wrong_passwords_that_others_type_do_not_keep_a_colleague_out_of_her_own_browser(
    guarded: Web, people: People
) -> None:
    sam = people.add_sam()
    with (
        open_staff_client(guarded, sam, people.password) as own,
        httpx.Client(base_url=guarded.url, trust_env=False) as stranger,
    ):
        own.cookies.delete("companion")
        stranger.get("/staff/sign-in/")
        for _ in range(5):
            sign_in(stranger, sam.get_username(), "wrong")
        # A cookie that was not given here counts as none.
        stranger.cookies.set("browser", own.cookies["browser"][:-2])
        assert sign_in(stranger, sam.get_username(), people.password).status_code == 429
        # Her own tries are limited all the same.
        assert [sign_in(own, sam.get_username(), "wrong").status_code for _ in range(2)] == [200, 200]
        assert sign_in(own, sam.get_username(), people.password).status_code == 302
        own.cookies.delete("companion")
        assert [sign_in(own, sam.get_username(), "wrong").status_code for _ in range(2)] == [200, 429]


def test_wrong_codes_of_participants_do_not_keep_staff_out(guarded: Web, people: People) -> None:
    sam = people.add_sam()
    with httpx.Client(base_url=guarded.url, trust_env=False) as staff_client:
        for _ in range(9):
            type_code(staff_client, WRONG)
        assert sign_in(staff_client, sam.get_username(), people.password).status_code == 302


def test_staff_who_sign_in_again_and_again_are_not_counted(guarded: Web, people: People) -> None:
    sam = people.add_sam()
    for _ in range(5):
        with open_staff_client(guarded, sam, people.password):
            pass


@pytest.mark.parametrize("at_once", [24, pytest.param(120, marks=pytest.mark.long)])
async def test_many_passwords_at_once_starve_no_page_and_none_is_answered_500(
    another_web: Callable[..., Web], valkey: str, client: "redis.Redis", people: People, at_once: int
) -> None:
    # With the hash of the service itself: its cost is what could starve a page.
    real = {"DJANGO_SETTINGS_MODULE": "ops.project.settings"}
    web = another_web(VALKEY_URL=valkey, COMPANION_SIGN_IN_TRIES="1000", **real)
    sam = people.add_sam()
    sam.password = make_password(people.password, hasher="pbkdf2_sha256")
    in_database(sam.save)
    name = sam.get_username()
    cookie = people.rosa.sign_in(web.url)
    limits = httpx.Limits(max_connections=200)
    async with (
        httpx.AsyncClient(base_url=web.url, trust_env=False, timeout=60, limits=limits) as staff_client,
        httpx.AsyncClient(base_url=web.url, trust_env=False, cookies={"companion": cookie}) as browser,
    ):
        await staff_client.get("/staff/sign-in/")
        form = {
            "username": name,
            "password": "wrong",
            "csrfmiddlewaretoken": staff_client.cookies["csrftoken"],
        }
        posts = [
            asyncio.create_task(staff_client.post("/staff/sign-in/", data=form, headers={"Origin": web.url}))
            for _ in range(at_once)
        ]
        await asyncio.wait(posts, return_when=asyncio.FIRST_COMPLETED)
        pages = [await browser.get("/chat/turns/?before=1", timeout=5) for _ in range(10)]
        answers = [post.status_code for post in await asyncio.gather(*posts)]
    assert [page.status_code for page in pages] == [200] * 10
    assert set(answers) <= {200, 503}
    assert answers.count(200) >= 10


@pytest.mark.parametrize(("behind", "status"), [("yes", 403), ("no", 429)])
def test_the_address_a_caller_claims_counts_only_behind_a_proxy(
    another_web: Callable[..., Web], valkey: str, client: "redis.Redis", behind: str, status: int
) -> None:
    web = another_web(VALKEY_URL=valkey, COMPANION_SIGN_IN_TRIES="2", COMPANION_BEHIND_PROXY=behind)
    with httpx.Client(base_url=web.url, trust_env=False) as browser:
        answers = [
            type_code(browser, WRONG, {"X-Real-IP": f"198.51.100.{number}"}).status_code
            for number in range(4)
        ]
    assert answers == [403, 403, status, status]


def type_code(browser: httpx.Client, code: str, headers: dict[str, str] | None = None) -> httpx.Response:
    """Type a card's code into the form and send it."""
    browser.get("/card/")
    form = {"code": code, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
    origin = str(browser.base_url).rstrip("/")
    return browser.post("/card/", data=form, headers={"Origin": origin, **(headers or {})})
