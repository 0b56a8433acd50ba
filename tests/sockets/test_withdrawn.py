"""A card or a site that is withdrawn closes every open page, and ends the reply that is being said (A1, S5)."""

import asyncio
import json

import pytest
from django.core.management import call_command
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.page_socket import Page
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import open_staff_client


@pytest.mark.parametrize("how", ["renew", "withdraw", "close"])
async def test_the_open_page_closes_at_once_and_the_reply_ends(
    service: Web, people: People, rehearsal: Rehearsal, how: str
) -> None:
    rosa, slug = people.rosa, people.site.slug
    rehearsal.inject({"pace_ms": 20, "words": 2_000}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("How are you?")
        await page.until("words")
        words = ["site", "close", slug] if how == "close" else ["card", "Rosa", "--site", slug, f"--{how}"]
        in_database(lambda: call_command(*words, "--by", "Ines"))
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    await page.next()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4401
    await until(lambda: rosa.turns()[-1].closed_at is not None)
    assert rosa.turns()[-1].reason == "signed_out"


async def test_a_colleague_who_leaves_watches_no_longer(service: Web, people: People) -> None:
    sam = people.add_sam()
    with open_staff_client(service, sam, people.password) as staff_client:
        cookie = staff_client.cookies["companion"]
        address = service.url.replace("http", "ws", 1) + "/ws/ops/"
        headers = {"Origin": service.url, "Cookie": f"companion={cookie}"}
        async with connect(address, additional_headers=headers, proxy=None) as socket:
            assert json.loads(await socket.recv())["type"] == "hello"
            in_database(lambda: call_command("staff", "withdraw", sam.get_username(), "--by", "Ines"))
            async with asyncio.timeout(20):
                with pytest.raises(ConnectionClosed) as closed:
                    while True:
                        await socket.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4401
