"""Staff sign in with a code of an app as well; a lost app is recovered on record, and others lock no person out."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from tests.commands import BY, refused, run, run_lines
from tests.patience import wait_until, waits_for
from tests.people import People, in_database
from tests.processes import Rehearsal, Web, start_web
from tests.staff import last_entry, open_staff_client, sign_in

STEP_S = 30


def get_device(user: User) -> TOTPDevice:
    return in_database(lambda: TOTPDevice.objects.get(user=user))


def code_of(device: TOTPDevice) -> str:
    """The code that the app shows now; it may have been used before."""
    in_database(lambda: TOTPDevice.objects.filter(pk=device.pk).update(last_t=-1))
    return f"{totp(device.bin_key):06d}"


def wrong_code(device: TOTPDevice) -> str:
    """A code that is not right within the next minutes."""
    near = {totp(device.bin_key, t0=-step * STEP_S) for step in range(-5, 6)}
    return next(f"{number:06d}" for number in range(100) if number not in near)


def post(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    [token] = [cookie.value for cookie in client.cookies.jar if "csrftoken" in cookie.name]
    origin = str(client.base_url).rstrip("/")
    return client.post(path, data={"csrfmiddlewaretoken": token, **fields}, headers={"Origin": origin})


@contextmanager
def open_browser(service: Web) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, trust_env=False, verify=False) as client:
        client.get("/staff/sign-in/")
        yield client


def read_field(page: httpx.Response, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, page.text
    return found[1]


def type_code(client: httpx.Client, page: httpx.Response, code: str) -> httpx.Response:
    return post(client, "/staff/sign-in/code/", step=read_field(page, "step"), code=code)


@pytest.fixture
def sam_with_app(service: Web, people: People) -> User:
    """Sam, who has set up an app on the page of his account."""
    sam = people.add_sam()
    with open_staff_client(service, sam, people.password) as desk:
        shown = post(desk, "/ops/account/second-factor/")
        device = get_device(sam)
        assert "<path d=" in shown.text and not device.confirmed
        again = post(desk, "/ops/account/second-factor/", device=str(device.pk), code=wrong_code(device))
        assert again.status_code == 200 and read_field(again, "device") == str(device.pk)
        done = post(desk, "/ops/account/second-factor/", device=str(device.pk), code=code_of(device))
    assert done.status_code == 302 and get_device(sam).confirmed
    assert last_entry()[:2] == (sam.get_username(), "set_second_factor")
    return sam


def test_a_password_alone_opens_nothing_where_an_app_is_set_up_and_each_code_counts_once(
    service: Web, people: People, sam_with_app: User
) -> None:
    with open_browser(service) as client:
        page = sign_in(client, sam_with_app.get_username(), people.password)
        assert page.status_code == 200 and "companion" not in client.cookies
        assert client.get("/ops/people/").status_code == 302
        code = code_of(get_device(sam_with_app))
        assert type_code(client, page, code).headers["location"] == "/ops/people/"
        assert client.get("/ops/people/").status_code == 200
        assert last_entry() == (sam_with_app.get_username(), "signed_in", None, "with a code")
    with open_browser(service) as other:
        page = sign_in(other, sam_with_app.get_username(), people.password)
        assert "The code is not right" in type_code(other, page, code).text


@pytest.mark.parametrize("typed", ["", "123", "abcdef", "１２３４５６", "123456 or 1=1", "9" * 5_000])
def test_what_is_no_code_opens_nothing(service: Web, people: People, sam_with_app: User, typed: str) -> None:
    with open_browser(service) as client:
        page = sign_in(client, sam_with_app.get_username(), people.password)
        assert "Not signed in." in type_code(client, page, typed).text


def test_a_step_that_is_forged_or_older_than_the_password_leads_back_to_the_beginning(
    service: Web, people: People, sam_with_app: User
) -> None:
    with open_browser(service) as client:
        page = sign_in(client, sam_with_app.get_username(), people.password)
        for step in ("", "forged", read_field(page, "step")[:-1]):
            forged = post(client, "/staff/sign-in/code/", step=step, code="123456")
            assert forged.headers["location"] == "/staff/sign-in/"
        run("staff", "password", sam_with_app.get_username(), *BY)
        late = type_code(client, page, code_of(get_device(sam_with_app)))
        assert late.headers["location"] == "/staff/sign-in/"
        assert client.get("/staff/sign-in/code/").headers["location"] == "/staff/sign-in/"


def test_a_sign_in_leads_where_the_person_wanted_to_go_and_never_to_another_site(
    service: Web, people: People, sam_with_app: User
) -> None:
    for wanted, led in (("/ops/turns/", "/ops/turns/"), ("https://elsewhere.example/", "/ops/people/")):
        with open_browser(service) as client:
            page = sign_in(client, sam_with_app.get_username(), people.password)
            code = code_of(get_device(sam_with_app))
            answer = post(
                client, "/staff/sign-in/code/", step=read_field(page, "step"), code=code, next=wanted
            )
            assert answer.headers["location"] == led


@pytest.fixture
def counting_web(another_web: Callable[..., Web], valkey_url: str) -> Web:
    """A web process that counts tries in Valkey, two within ten minutes."""
    return another_web(VALKEY_URL=valkey_url, COMPANION_SIGN_IN_TRIES="2")


def sign_in_and_out(client: httpx.Client, user: User, password: str) -> None:
    """Have the browser know this person."""
    page = sign_in(client, user.get_username(), password)
    assert type_code(client, page, code_of(get_device(user))).status_code == 302
    post(client, "/staff/sign-out/")
    client.get("/staff/sign-in/")


def test_wrong_codes_delay_strangers_and_not_a_browser_in_which_the_person_has_been(
    counting_web: Web, people: People, sam_with_app: User
) -> None:
    name = sam_with_app.get_username()
    with open_browser(counting_web) as own, open_browser(counting_web) as stranger:
        sign_in_and_out(own, sam_with_app, people.password)
        device = get_device(sam_with_app)
        device.throttling_failure_count = 12
        device.throttling_failure_timestamp = device.last_used_at
        in_database(device.save)

        page = sign_in(stranger, name, people.password)
        late = type_code(stranger, page, code_of(device))
        assert late.status_code == 429 and re.search(r"Try again in 20\d\d seconds", late.text)
        page = sign_in(own, name, people.password)
        # What is typed wrong here makes no delay of others shorter.
        assert type_code(own, page, wrong_code(device)).status_code == 200
        assert get_device(sam_with_app).throttling_failure_count == 13
        assert type_code(own, page, code_of(device)).status_code == 302
    assert get_device(sam_with_app).throttling_failure_count == 0


def test_a_browser_in_which_the_person_has_been_tries_only_some_codes_in_ten_minutes(
    counting_web: Web, people: People, sam_with_app: User
) -> None:
    name = sam_with_app.get_username()
    with open_browser(counting_web) as own, open_browser(counting_web) as other:
        sign_in_and_out(own, sam_with_app, people.password)
        page = sign_in(own, name, people.password)
        wrong = wrong_code(get_device(sam_with_app))
        assert [type_code(own, page, wrong).status_code for _ in range(2)] == [200, 200]

        late = type_code(own, page, code_of(get_device(sam_with_app)))
        assert late.status_code == 429 and "Try again in 600 seconds" in late.text
        assert sign_in(own, name, people.password).status_code == 429
        in_database(lambda: TOTPDevice.objects.update(throttling_failure_count=0))
        page = sign_in(other, name, people.password)
        assert type_code(other, page, code_of(get_device(sam_with_app))).status_code == 302


def test_where_its_tries_are_not_counted_a_browser_waits_after_wrong_codes_as_any_other(
    service: Web, people: People, sam_with_app: User
) -> None:
    """The shared service has no Valkey."""
    with open_browser(service) as own:
        sign_in_and_out(own, sam_with_app, people.password)
        page = sign_in(own, sam_with_app.get_username(), people.password)
        device = get_device(sam_with_app)
        device.throttling_failure_count = 11
        device.throttling_failure_timestamp = None
        in_database(device.save)

        assert type_code(own, page, wrong_code(device)).status_code == 200
        assert type_code(own, page, code_of(device)).status_code == 429


def test_no_app_is_set_up_beside_one_that_came_into_use_at_the_same_moment(
    service: Web, people: People
) -> None:
    sam = people.add_sam()
    with (
        open_staff_client(service, sam, people.password) as desk,
        ThreadPoolExecutor(1) as browser,
        psycopg.connect(settings.DATABASE_URL) as other,
    ):
        other.execute("SELECT FROM auth_user WHERE id = %s FOR NO KEY UPDATE", [sam.pk])
        asked = browser.submit(post, desk, "/ops/account/second-factor/")
        wait_until(lambda: asked.done() or waits_for(other), within_s=20)
        other.execute(
            "INSERT INTO otp_totp_totpdevice (user_id, name, confirmed, key, step, t0, digits, tolerance, drift, "
            "last_t, throttling_failure_count) VALUES (%s, 'app', true, '00ff', 30, 0, 6, 1, 0, -1, 0)",
            [sam.pk],
        )
        other.commit()
        assert asked.result().status_code == 302
    assert get_device(sam).key == "00ff"


def test_for_a_lost_phone_an_operator_has_the_app_forgotten_on_record_and_hands_over_a_new_password(
    service: Web, people: People, sam_with_app: User
) -> None:
    name = sam_with_app.get_username()
    new = run_lines("staff", "forget-app", name, *BY)[-1]

    who, what, _, note = last_entry()
    assert (who, what) == ("Ines", "removed_second_factor") and note.startswith(
        f"staff {sam_with_app.pk}, command"
    )
    with open_browser(service) as client:
        assert "is not right" in sign_in(client, name, people.password).text
        assert sign_in(client, name, new).status_code == 302
    assert "without an app" in run("staff", "forget-app", name, *BY)
    assert "no member of staff" in refused("staff", "forget-app", "unknown", *BY)


def test_a_colleague_who_leaves_leaves_no_app_behind(people: People, sam_with_app: User) -> None:
    run("staff", "withdraw", sam_with_app.get_username(), *BY)

    assert not in_database(lambda: TOTPDevice.objects.filter(user=sam_with_app).exists())


def test_an_app_is_turned_off_with_its_code_alone(service: Web, people: People, sam_with_app: User) -> None:
    with open_browser(service) as client:
        page = sign_in(client, sam_with_app.get_username(), people.password)
        type_code(client, page, code_of(get_device(sam_with_app)))
        post(client, "/ops/account/second-factor/")
        assert get_device(sam_with_app).confirmed
        wrong = post(client, "/ops/account/second-factor/off/", code=wrong_code(get_device(sam_with_app)))
        assert wrong.status_code == 200 and get_device(sam_with_app).confirmed
        # The wrong code delays the next one by a second, which is over.
        in_database(lambda: TOTPDevice.objects.update(throttling_failure_count=0))
        off = post(client, "/ops/account/second-factor/off/", code=code_of(get_device(sam_with_app)))
        assert off.status_code == 302 and last_entry()[1] == "removed_second_factor"
    assert not in_database(lambda: TOTPDevice.objects.filter(user=sam_with_app).exists())


def test_where_the_programme_asks_for_it_an_app_is_set_up_before_the_first_session(
    database: object, rehearsal: Rehearsal, people: People
) -> None:
    kim = people.add_supervisor("kim")
    with start_web(rehearsal, COMPANION_SECOND_FACTOR="yes") as web, open_browser(web) as client:
        page = sign_in(client, kim.get_username(), people.password)
        assert "Set up the second step" in page.text and "companion" not in client.cookies
        again = type_code(client, page, wrong_code(get_device(kim)))
        assert "The code is not right" in again.text and "<path d=" in again.text
        done = type_code(client, again, code_of(get_device(kim)))
        assert done.headers["location"] == "/ops/people/"
        off = post(client, "/ops/account/second-factor/off/", code=code_of(get_device(kim)))
        assert off.status_code == 302 and get_device(kim).confirmed


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ("short-one", "at least 12 characters"),
        ("123456789012345", "entirely numeric"),
        ("passwordpassword", ""),
        ("{name}", "too similar to the username"),
    ],
)
def test_a_password_that_djangos_rules_refuse_is_not_taken(
    service: Web, people: People, new: str, says: str
) -> None:
    sam = people.add_sam()
    typed = new.format(name=sam.get_username())
    with open_staff_client(service, sam, people.password) as desk:
        answer = post(
            desk,
            "/ops/account/password/",
            old_password=people.password,
            new_password1=typed,
            new_password2=typed,
        )
        assert answer.status_code == (200 if says else 302)
        assert says in answer.text


def test_a_new_password_keeps_this_session_and_ends_the_others(service: Web, people: People) -> None:
    sam = people.add_sam()
    new = f"a calm {people.password} river"
    fields = {"new_password1": new, "new_password2": new}
    with (
        open_staff_client(service, sam, people.password) as desk,
        open_staff_client(service, sam, people.password) as other,
    ):
        wrong = post(desk, "/ops/account/password/", old_password="wrong", **fields)
        assert wrong.status_code == 200 and "The present password is not right." in wrong.text
        assert post(desk, "/ops/account/password/", old_password=people.password, **fields).status_code == 302
        assert last_entry()[:2] == (sam.get_username(), "new_password")
        assert desk.get("/ops/account/").status_code == 200
        assert other.get("/ops/account/").status_code == 302
