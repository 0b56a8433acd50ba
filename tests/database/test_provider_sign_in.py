"""Staff sign in through an identity provider over real HTTP; what an honest one would not say opens nothing."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import override_settings

from companion.sessions import SessionStore
from ops.models import StaffIdentity
from ops.staff.provider import ProviderBackend, ProviderFailed, discover
from ops.staff.provider_sign_in import ANSWER_AGE_S
from tests.commands import BY, run
from tests.identity_provider import CLIENT, SECRET, IdentityProvider, start_provider
from tests.people import People, in_database
from tests.processes import Rehearsal, Web, start_web
from tests.staff import last_entry, open_staff_client


@pytest.fixture(scope="module")
def _provider() -> Iterator[IdentityProvider]:
    with start_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def web(database: object, _rehearsal: Rehearsal, _provider: IdentityProvider) -> Iterator[Web]:
    """A web process whose staff sign in there."""
    with start_web(_rehearsal, **settings_of(_provider)) as web:
        yield web


@pytest.fixture
def kim(people: People) -> User:
    """Came by a file: a supervisor of this test's site without a password."""
    user = people.add_supervisor("kim")
    user.set_unusable_password()
    in_database(user.save)
    return user


@pytest.fixture
def provider(_provider: IdentityProvider, kim: User) -> IdentityProvider:
    """Signs in Kim."""
    _provider.be_honest(kim.get_username(), subject=f"subject-{kim.pk}")
    return _provider


def settings_of(provider: IdentityProvider) -> dict[str, str]:
    """The settings of a service whose staff sign in there."""
    return {
        "STAFF_OIDC_ISSUER": provider.issuer,
        "STAFF_OIDC_CLIENT_ID": CLIENT,
        "STAFF_OIDC_CLIENT_SECRET": SECRET,
    }


@contextmanager
def open_browser(web: Web) -> Iterator[httpx.Client]:
    # The cookies of two services at one address are apart by their names alone.
    with httpx.Client(base_url=web.url, trust_env=False, verify=False) as client:
        yield client


def go_and_come_back(client: httpx.Client, *, wanted: str = "") -> httpx.Response:
    """Go to the provider, and take its answer back to the service."""
    asked = client.get("/staff/provider/", params={"next": wanted} if wanted else {})
    assert asked.status_code == 302, asked.text
    led = httpx.get(asked.headers["location"], trust_env=False, verify=False)
    return client.get(led.headers["location"])


def refusal(client: httpx.Client, answer: httpx.Response) -> str:
    """What the page of the sign-in says after this answer."""
    assert answer.headers["location"] == "/staff/sign-in/"
    assert client.get("/ops/people/").status_code == 302
    return client.get("/staff/sign-in/").text


def test_staff_whom_the_provider_signs_in_are_bound_to_their_account_once_and_on_record(
    web: Web, provider: IdentityProvider, kim: User
) -> None:
    with open_browser(web) as client:
        assert 'href="/staff/provider/' in client.get("/staff/sign-in/").text
        assert go_and_come_back(client).headers["location"] == "/ops/people/"
        assert client.get("/ops/people/").status_code == 200
        assert "through your organisation" in client.get("/ops/account/").text
        assert last_entry() == (kim.get_username(), "signed_in", None, "by the provider")
    identity = in_database(lambda: StaffIdentity.objects.get(user=kim))
    assert (identity.issuer, identity.subject) == (provider.issuer, provider.subject)
    # Named otherwise there, she is the same.
    provider.name = "renamed"
    with open_browser(web) as client:
        assert go_and_come_back(client, wanted="/ops/turns/").headers["location"] == "/ops/turns/"
    with open_browser(web) as client:
        away = go_and_come_back(client, wanted="https://elsewhere.example/")
        assert away.headers["location"] == "/ops/people/"


def test_another_person_of_that_name_at_the_provider_is_let_in_nowhere(
    web: Web, provider: IdentityProvider, kim: User
) -> None:
    with open_browser(web) as client:
        go_and_come_back(client)
    provider.subject = "another"
    with open_browser(web) as client:
        assert "no account here is yours" in refusal(client, go_and_come_back(client))


def test_who_has_no_account_here_or_has_left_is_told_so(
    web: Web, provider: IdentityProvider, kim: User
) -> None:
    with open_browser(web) as client:
        go_and_come_back(client)
        run("staff", "withdraw", kim.get_username(), *BY)
        assert client.get("/ops/people/").status_code == 302
        assert "no account here is yours" in refusal(client, go_and_come_back(client))
    assert not in_database(lambda: StaffIdentity.objects.filter(user=kim).exists())


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"aud": "another-service"}, "other_audience"),
        ({"aud": [CLIENT, "another-service"]}, "other_party"),
        ({"iss": "http://elsewhere.example"}, "other_issuer"),
        ({"nonce": "of another sign-in"}, ""),
        ({"exp": int(time.time()) - 3_600}, ""),
        ({"exp": None}, "no_end"),
        ({"sub": None}, "no_subject"),
        ({"sub": "another than userinfo says"}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_token_that_is_not_for_this_sign_in_opens_nothing(
    web: Web, provider: IdentityProvider, claims: dict[str, Any], code: str
) -> None:
    provider.claims = claims
    with open_browser(web) as client:
        assert "does not answer as it should" in refusal(client, go_and_come_back(client))
    if code:
        with override_settings(**settings_of(provider)), pytest.raises(ProviderFailed, match=code):
            ProviderBackend().verify_token(provider.sign("a nonce"), nonce="a nonce")


@pytest.mark.parametrize("how", ["HS256", "none", "another key"])
def test_a_token_that_the_provider_has_not_signed_opens_nothing(
    web: Web, provider: IdentityProvider, how: str
) -> None:
    if how == "another key":
        provider.key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    else:
        provider.algorithm = how
    with open_browser(web) as client:
        assert "does not answer as it should" in refusal(client, go_and_come_back(client))


def test_an_answer_that_was_used_forged_or_refused_opens_nothing(
    web: Web, provider: IdentityProvider
) -> None:
    with open_browser(web) as client, open_browser(web) as other:
        asked = client.get("/staff/provider/")
        led = httpx.get(asked.headers["location"], trust_env=False, verify=False).headers["location"]
        # Another browser has not asked for it.
        assert "begun too long ago" in refusal(other, other.get(led))
        forged = f"{led.split('?')[0]}?code=guessed&state={led.split('state=')[1].split('&')[0]}"
        assert "does not answer as it should" in refusal(client, client.get(forged))
        assert "begun too long ago" in refusal(client, client.get(led))
        provider.refuses = True
        assert "were not signed in there" in refusal(client, go_and_come_back(client))


def test_a_provider_that_does_not_answer_is_told_to_staff_and_to_the_log(
    another_web: Callable[..., Web], provider: IdentityProvider
) -> None:
    web = another_web(**settings_of(provider) | {"STAFF_OIDC_ISSUER": "http://127.0.0.1:1/realm"})
    with open_browser(web) as client:
        assert "does not answer as it should" in refusal(client, client.get("/staff/provider/"))
        assert "staff.provider_failed code=ConnectionError" in web.log.read_text()


def test_a_document_that_names_another_issuer_is_not_believed(provider: IdentityProvider) -> None:
    named = settings_of(provider) | {"STAFF_OIDC_ISSUER": f"{provider.issuer}/"}
    with override_settings(**named), pytest.raises(ProviderFailed, match="other_issuer"):
        discover()


@pytest.mark.parametrize(
    "endpoint", ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"]
)
@pytest.mark.parametrize("address", ["http://id.example.org/x", "https:", "javascript:alert(1)"])
def test_nothing_is_sent_to_an_endpoint_that_others_on_the_way_can_read(endpoint: str, address: str) -> None:
    with start_provider() as provider, override_settings(**settings_of(provider)):
        provider.document = {endpoint: address}
        with pytest.raises(ProviderFailed, match="endpoint_not_https"):
            discover()


def test_an_answer_that_comes_late_opens_nothing(web: Web, provider: IdentityProvider) -> None:
    with open_browser(web) as client:
        asked = client.get("/staff/provider/")
        led = httpx.get(asked.headers["location"], trust_env=False, verify=False).headers["location"]
        [cookie] = [cookie.value for cookie in client.cookies.jar if cookie.name == "companion"]

        def make_older() -> None:
            session = SessionStore(cookie)
            for state in session["oidc_states"].values():
                state["added_on"] -= ANSWER_AGE_S
            session.save()

        in_database(make_older)
        assert "begun too long ago" in refusal(client, client.get(led))


@pytest.mark.parametrize("verified", [None, False, "true"])
def test_an_e_mail_address_that_the_provider_has_not_verified_binds_no_account(
    provider: IdentityProvider, kim: User, verified: object
) -> None:
    provider.userinfo = {"email": kim.get_username(), "email_verified": verified}
    with override_settings(**settings_of(provider), STAFF_OIDC_CLAIM="email"):

        def find() -> User | None:
            return ProviderBackend().get_or_create_user("an-access-token", "", {"sub": provider.subject})

        assert in_database(find) is None
        provider.userinfo["email_verified"] = True
        assert in_database(find) == kim


def test_answers_that_wait_for_a_provider_that_hangs_keep_no_page_waiting(
    another_web: Callable[..., Web], provider: IdentityProvider, people: People
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging, ThreadPoolExecutor(9) as browsers:
        hanging.settimeout(30)
        provider.document = {"token_endpoint": f"http://127.0.0.1:{hanging.getsockname()[1]}/"}
        web = another_web(**settings_of(provider))

        def sign_in_there() -> httpx.Response:
            with open_browser(web) as client:
                return go_and_come_back(client)

        with open_staff_client(web, people.add_sam(), people.password) as desk:
            # One more than the pool of pages has connections.
            asked = [browsers.submit(sign_in_there) for _ in range(9)]
            waiting = [hanging.accept()[0] for _ in asked]
            assert desk.get("/ops/people/").status_code == 200
            assert not any(one.done() for one in asked)
            for connection in waiting:
                connection.close()
            assert {one.result().headers["location"] for one in asked} == {"/staff/sign-in/"}
