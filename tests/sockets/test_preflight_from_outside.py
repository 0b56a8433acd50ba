"""What a preflight says of servers that it reaches: the way in from outside, lanes, mail, queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from django.test import override_settings

from ops.preflight.proxy import judge_proxy
from ops.preflight.servers import find_unreached, judge_mail, judge_queue
from tests.processes import Web
from tests.sinks import start_mailbox

NOWHERE = "http://127.0.0.1:1"


@asynccontextmanager
async def serve(handler: object) -> AsyncIterator[str]:
    """A server that answers every request by `handler`; gives its address."""
    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", handler)  # type: ignore[arg-type]
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def answer_without_sockets(request: web.Request) -> web.Response:
    """A proxy that drops the headers of an upgrade, and hides the figures."""
    return web.Response(status=404 if request.path == "/metrics" else 200)


async def refuse(request: web.Request) -> web.Response:
    return web.Response(status=502)


async def list_ids(origin: str) -> list[str]:
    return [str(message.id).removeprefix("companion.") for message in await judge_proxy(origin)]


async def test_a_web_process_passes_sockets_and_shows_its_figures_where_no_proxy_hides_them(
    service: Web,
) -> None:
    assert await list_ids(service.url) == ["W053"]


async def test_a_proxy_that_drops_the_upgrade_is_told() -> None:
    async with serve(answer_without_sockets) as origin:
        assert await list_ids(origin) == ["E054"]


async def test_a_proxy_without_a_web_process_and_an_address_that_leads_nowhere_are_told() -> None:
    async with serve(refuse) as origin:
        assert await list_ids(origin) == ["E053"]
    assert await list_ids(NOWHERE) == ["E053"]


async def test_servers_that_are_away_are_told_with_a_reason_and_the_others_are_not() -> None:
    async with serve(refuse) as origin:
        unreached = await find_unreached([f"{origin}/v1", NOWHERE, f"{NOWHERE}/v1"])

    assert unreached == {NOWHERE: "Connection refused", f"{NOWHERE}/v1": "Connection refused"}


async def test_a_mail_server_is_greeted_and_sent_nothing() -> None:
    with start_mailbox() as mailbox:
        with override_settings(EMAIL_HOST="127.0.0.1", EMAIL_PORT=mailbox.port):
            assert await asyncio.to_thread(lambda: list(judge_mail())) == []
        assert (mailbox.letters, mailbox.recipients) == ([], [])
    with override_settings(EMAIL_HOST="127.0.0.1", EMAIL_PORT=1):
        [said] = await asyncio.to_thread(lambda: list(judge_mail()))
    assert said.id == "companion.W044"


def test_a_queue_that_is_away_is_told() -> None:
    [said] = judge_queue("redis://:a-secret@127.0.0.1:1/0")

    assert said.id == "companion.W042"
    assert "a-secret" not in f"{said.msg}{said.hint}"
