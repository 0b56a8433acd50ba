"""Behind HTTPS, a page that came over HTTP is not ours, whatever name stands in its address."""

from collections.abc import Callable

import httpx
import pytest
import websockets

from tests.page_socket import Page
from tests.people import People
from tests.processes import Web
from tests.staff import sign_in


@pytest.fixture
def web(another_web: Callable[..., Web]) -> Web:
    """A web process that is told that it stands behind HTTPS."""
    return another_web(COMPANION_SECURE_COOKIES="yes")


def come_in(web: Web, code: str, *, origin: str) -> httpx.Response:
    headers = {"Origin": origin}
    return httpx.post(f"{web.url}/card/", data={"code": code}, headers=headers, trust_env=False)


def over_https(web: Web) -> str:
    return web.url.replace("http:", "https:")


async def test_a_page_over_http_opens_no_visit_and_no_socket(web: Web, people: People) -> None:
    code = people.rosa.card.code

    assert come_in(web, code, origin=web.url).status_code == 403
    answer = come_in(web, code, origin=over_https(web))
    assert answer.status_code == 302

    cookie = answer.cookies["__Host-companion"]
    async with Page(web.socket_url, cookie, origin=over_https(web), name="__Host-companion") as page:
        assert (await page.next())["type"] == "hello"
    for path in ("/ws/chat/", "/ws/ops/", "/ws/ops/page/"):
        address = web.socket_url.replace("/ws/chat/", path)
        with pytest.raises(websockets.InvalidStatus):
            async with Page(address, cookie, origin=web.url):
                pass


def test_a_page_over_http_signs_no_staff_in(web: Web, people: People) -> None:
    sam = people.add_sam().get_username()
    with httpx.Client(base_url=web.url, trust_env=False) as staff_client:
        form = staff_client.get("/staff/sign-in/")
        # The client does not send a secure cookie over HTTP, as the proxy in front does.
        staff_client.headers["Cookie"] = f"__Host-csrftoken={form.cookies['__Host-csrftoken']}"

        assert sign_in(staff_client, sam, people.password).status_code == 403
        assert sign_in(staff_client, sam, people.password, origin=over_https(web)).status_code == 302
