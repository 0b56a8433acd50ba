"""What every response says to the browser about itself: each address, each reader, each way of asking (A2, A5)."""

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.people import People
from tests.processes import Web
from tests.staff import open_staff_client, open_staff_session, sign_in

SAMPLES = {
    "int": "7",
    "str": "word",
    "uuid": "00000000-0000-4000-8000-000000000007",
    "slug": "word",
    "path": "a/b",
}
"""A value for each kind of part of an address."""
STATIC = "/static/companion/companion.css"
OTHERS = (
    STATIC,
    "/static/no-such.css",
    "/no-such-page/",
    "/chat",
    "//chat/",
    "/ops/turns/99999999999999999999/",
)
STRICT_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
EXPECTED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
WITHOUT_ENDING = ("staff/sign-out/",)
"""It ends the session that the walk goes on with; its own test is below."""


def list_addresses(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from list_addresses(pattern.url_patterns, address)
        else:
            yield "/" + re.sub(r"<(\w+):\w+>", lambda part: SAMPLES[part[1]], address)


def find_faults(response: httpx.Response) -> list[str]:
    """What is missing or wrong in the headers of one response."""
    place = f"{response.request.method} {response.request.url.path} {response.status_code}"
    headers = response.headers
    faults = [
        f"{place}: {name} is {headers.get(name)!r}"
        for name, value in EXPECTED.items()
        if headers.get(name) != value
    ]
    policy = dict(
        part.strip().split(" ", 1) for part in headers.get("Content-Security-Policy", "").split(";") if part
    )
    if policy != STRICT_POLICY:
        faults.append(f"{place}: the content policy is {policy}")
    if "camera=()" not in headers.get("Permissions-Policy", ""):
        faults.append(f"{place}: no permissions policy")
    is_file = response.request.url.path.startswith("/static/") and response.status_code == 200
    if not is_file and "no-store" not in headers.get("Cache-Control", ""):
        faults.append(f"{place}: Cache-Control is {headers.get('Cache-Control')!r}")
    for cookie in headers.get_list("Set-Cookie"):
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        if "max-age=0" in parts:
            continue
        if not {"httponly", "path=/"} <= parts or not parts & {"samesite=lax", "samesite=strict"}:
            faults.append(f"{place}: a cookie has {sorted(parts)}")
    return faults


def walk(client: httpx.Client) -> list[str]:
    """Ask for every address in every way that changes nothing; return what is wrong."""
    faults: list[str] = []
    for address in [*list_addresses(get_resolver().url_patterns), *OTHERS]:
        if address.strip("/") + "/" in WITHOUT_ENDING:
            continue
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            # Forms without a token and from no page of ours: refused, and that answer too is walked.
            faults += find_faults(client.request(method, address))
    return faults


@pytest.mark.parametrize("reader", ["stranger", "participant", "supervisor", "operator"])
def test_every_answer_keeps_words_in_its_page_and_its_page_to_itself(
    service: Web, people: People, reader: str
) -> None:
    with httpx.Client(base_url=service.url, trust_env=False) as client:
        if reader == "participant":
            client.cookies["companion"] = people.rosa.sign_in(service.url)
        elif reader != "stranger":
            user = people.add_sam() if reader == "supervisor" else people.add_ines()
            client.cookies["companion"] = open_staff_session(user)
        assert walk(client) == []


def test_the_walk_finds_a_response_without_a_policy(service: Web) -> None:
    response = httpx.get(f"{service.url}/card/", trust_env=False)
    del response.headers["Content-Security-Policy"]
    response.headers["Cache-Control"] = "max-age=60"
    assert len(find_faults(response)) == 2


def test_behind_https_cookies_belong_to_this_host_alone_and_browsers_stay_with_https(
    another_web: Callable[..., Web], people: People
) -> None:
    web = another_web(COMPANION_SECURE_COOKIES="yes")
    origin = web.url.replace("http:", "https:")
    sam = people.add_sam()
    with httpx.Client(base_url=web.url, trust_env=False) as client:
        form = client.get("/staff/sign-in/")
        assert form.headers["Strict-Transport-Security"] == "max-age=31536000"
        # The client does not send a secure cookie over HTTP, as the proxy in front does.
        token = form.cookies["__Host-csrftoken"]
        client.headers["Cookie"] = f"__Host-csrftoken={token}"
        fields = {"username": sam.get_username(), "password": people.password, "csrfmiddlewaretoken": token}
        answers = [
            client.post("/staff/sign-in/", data=fields, headers={"Origin": origin}),
            client.post("/card/", data={"code": people.rosa.card.code}, headers={"Origin": origin}),
        ]
    for answer in [form, *answers]:
        cookies = answer.headers.get_list("Set-Cookie")
        assert cookies and find_faults(answer) == []
        for cookie in cookies:
            assert (
                cookie.startswith("__Host-")
                and "; secure" in cookie.lower()
                and "domain" not in cookie.lower()
            )


def test_two_installations_on_one_host_name_have_cookies_of_their_own(
    service: Web, another_web: Callable[..., Web], people: People
) -> None:
    rosa = people.rosa
    other = another_web(COMPANION_COOKIE_SUFFIX="b")
    with httpx.Client(trust_env=False) as browser:
        for web in (service, other):
            browser.post(f"{web.url}/card/", data={"code": rosa.card.code}, headers={"Origin": web.url})
        names = {cookie.name for cookie in browser.cookies.jar}
        assert {"companion", "companion-b"} <= names
        assert browser.get(f"{other.url}/chat/").status_code == 200


def test_signing_out_is_as_strict(service: Web, people: People) -> None:
    with open_staff_client(service, people.add_sam(), people.password) as client:
        form = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        answer = client.post("/staff/sign-out/", data=form, headers={"Origin": service.url})
        assert answer.status_code == 302 and find_faults(answer) == []
        assert find_faults(sign_in(client, "nobody-here", "wrong")) == []
