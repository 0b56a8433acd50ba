"""A process that is killed right after the commit of a red message loses neither message, nor line, nor flag (S1)."""

import asyncio
import contextlib
import uuid
from collections.abc import Callable

import psycopg
import websockets

from companion.models import Control, Flag
from ops.stack.postgres import EmbeddedPostgres
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Web


async def test_the_line_shows_itself_on_another_process_and_the_flag_rings(
    another_web: Callable[..., Web], people: People, database: EmbeddedPostgres
) -> None:
    doomed, left = another_web(), another_web()
    rosa = people.rosa
    cookie, key = rosa.sign_in(left.url), str(uuid.uuid4())
    async with (
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as listener,
        Page(left.socket_url, cookie) as other,
    ):
        await listener.execute("LISTEN companion")
        async with Page(doomed.socket_url, cookie) as page:
            await page.next()
            await page.say("I want to kill myself tonight.", key)
            async with asyncio.timeout(20):
                async for notify in listener.notifies():
                    if '"flags"' in notify.payload:
                        doomed.kill()
                        break
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    await page.next()
        shown = await other.until("safety", within_s=10)
        assert "Please tell someone near you" in shown["line"] and "0808 157 0123" in shown["line"]
        # The page sends the message again under the same key, because it was told of no turn.
        await other.say("I want to kill myself tonight.", key)
        assert (await other.until("accepted"))["turn"] == shown["turn"]
    [turn] = rosa.turns()
    assert (turn.state, turn.line) == ("safety", shown["line"])
    flag = in_database(lambda: Flag.objects.get(conversation=rosa.conversation))
    assert (flag.state, flag.count, flag.turn) == ("open", 1, turn.pk)
    assert in_database(lambda: Control.objects.get(pk=rosa.conversation.pk)).quiet_since is not None
