"""What is killed right after the commit of a red message takes no message, line or flag with it (S1, T11)."""

import asyncio
import os
import signal
import uuid
from collections.abc import Callable

import pytest

from companion.models import Control, Flag
from ops.stack.postgres import EmbeddedPostgres
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Web
from tests.supervised import listen_for_flag

RED = "I want to kill myself tonight."


@pytest.mark.parametrize("killed", ["web process", "database", "database and web process"])
async def test_the_line_shows_itself_on_another_process_and_the_flag_rings_after_the_death_of_the(
    another_web: Callable[..., Web], people: People, database: EmbeddedPostgres, killed: str
) -> None:
    doomed, left = another_web(), another_web()
    rosa = people.rosa
    cookie, key = rosa.sign_in(left.url), str(uuid.uuid4())
    async with listen_for_flag(database) as until_stored, Page(left.socket_url, cookie) as other:
        await other.until("hello")
        async with Page(doomed.socket_url, cookie) as page:
            await page.until("hello")
            await page.say(RED, key)
            await until_stored()
            if "database" in killed:
                assert database.running is not None
                os.kill(database.running.pid, signal.SIGKILL)
            if "web process" in killed:
                doomed.kill()
                await page.close_code()
        await asyncio.to_thread(database.start)
        # The page that stayed open on another process shows the line by itself.
        shown = (await other.until("safety", within_s=60))["line"]
        assert "Please tell someone near you" in shown and "0808 157 0123" in shown
        # The page sends the message again under the same key, because it was told of no turn.
        await other.say(RED, key)
        [turn] = rosa.turns()
        assert (await other.until("accepted"))["turn"] == turn.pk
    assert (turn.state, turn.question, turn.line) == ("safety", RED, shown)
    flag = in_database(lambda: Flag.objects.get(conversation=rosa.conversation))
    assert (flag.tier, flag.state, flag.count, flag.turn) == ("red", "open", 1, turn.pk)
    assert in_database(lambda: Control.objects.get(pk=rosa.conversation.pk)).quiet_since is not None
