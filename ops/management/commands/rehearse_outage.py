"""`manage.py rehearse_outage [--pause-between]`: shows how the service handles a reply that breaks off."""

import asyncio
import contextlib
import os
import secrets
import sys
from argparse import ArgumentParser
from contextlib import AsyncExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import aiohttp
import httpx
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from companion.models import Participant, Site
from companion.participants import add_participant, find_active_participant, get_card
from ops import audit, names
from ops.changes import ChangeRefused
from ops.chat_client.browser import Browser
from ops.chat_client.errors import ChatFailed, ServiceUnavailable
from ops.outage.errors import CannotRehearse, RehearsalBroke
from ops.outage.rehearsal import CheckedPromise, OutageRehearsal
from ops.project.wiring.routing import build_routing
from ops.project.wiring.turns import build_turn_policy
from ops.testbed.rehearsal_provider import NotRehearsalProvider, RehearsalProvider, provider_addresses
from ops.testbed.running_service import NoRunningService, token_folder, web_addresses
from ops.transcripts.queries import list_turns_of
from personas.errors import PersonaInvalid
from routing.errors import RoutingFileInvalid

NAME = "Nora (rehearsal)"
NOT_STARTED, INTERRUPTED = 2, 130
NOT_STARTED_ERRORS = (
    CannotRehearse,
    NoRunningService,
    NotRehearsalProvider,
    ChangeRefused,
    ServiceUnavailable,
)


class Command(BaseCommand):
    help = (
        "Rehearses a failing reply against a running scripts/up and its rehearsal provider. "
        "Exit code 0: every promise was kept; 1: one was not; 2: the rehearsal could not start."
    )
    # The command itself reports an invalid persona file, with its own exit code.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--pause-between", action="store_true", help="wait for Enter between the acts")
        parser.add_argument("--site", metavar="SLUG", help="the site of the rehearsal's participant")
        parser.add_argument("--address", metavar="URL", help="of the service, if no scripts/up runs it")

    def handle(
        self, *args: Any, pause_between: bool, site: str | None, address: str | None, **options: Any
    ) -> None:
        display = TerminalDisplay(self, waits=pause_between)
        try:
            service = address.rstrip("/") if address else _running_address(settings.COMPANION_STATE_DIR)
            person = _find_or_create_participant(site and names.clean_slug(site))
            note = audit.format_command_note("rehearse_outage")
            audit.record(audit.READ_TRANSCRIPT, who=audit.get_account(), about=person.pk, note=note)
            promises = asyncio.run(_rehearse(display, service, person))
        except NOT_STARTED_ERRORS as refusal:
            raise CommandError(str(refusal), returncode=NOT_STARTED) from None
        except (PersonaInvalid, RoutingFileInvalid) as refusal:
            raise CommandError(
                f"The service cannot run like this. {refusal}", returncode=NOT_STARTED
            ) from None
        except (ChatFailed, RehearsalBroke) as broke:
            raise CommandError(f"The rehearsal broke off. {broke}") from None
        except TimeoutError:
            raise CommandError("The rehearsal broke off. A turn had no end within its time.") from None
        except (aiohttp.ClientError, httpx.HTTPError, OperationalError) as failure:
            away = "The database" if isinstance(failure, OperationalError) else "The service or its provider"
            raise CommandError(f"The rehearsal broke off. {away} stopped answering.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped before the end of the rehearsal.", returncode=INTERRUPTED) from None
        self._report(promises)

    def _report(self, promises: list[CheckedPromise]) -> None:
        self.stdout.write("\nWhat was promised\n")
        for promise in promises:
            self.stdout.write(f"  {'kept    ' if promise.kept else 'NOT KEPT'}  {promise.says}")
        broken = sum(not promise.kept for promise in promises)
        if broken:
            raise CommandError(f"Not as promised: {broken} of {len(promises)} promises were not kept.")
        self.stdout.write(f"\nAs promised: {len(promises)} of {len(promises)} promises were kept.")


class TerminalDisplay:
    """Shows the rehearsal on standard output, each piece when it arrives."""

    def __init__(self, command: BaseCommand, *, waits: bool) -> None:
        self._out = command.stdout
        self._waits = waits

    def write_line(self, line: str) -> None:
        self._out.write(line)
        self._out.flush()

    def write_words(self, text: str) -> None:
        self._out.write(text, ending="")
        self._out.flush()

    async def pause(self) -> None:
        if self._waits:
            self.write_words("\n  Press Enter to go on. ")
            pressed, loop = asyncio.Event(), asyncio.get_running_loop()
            # A daemon thread: Ctrl-C must end the command while it still reads.
            Thread(target=_wait_for_enter, args=(loop, pressed), daemon=True).start()
            await pressed.wait()


def _wait_for_enter(loop: asyncio.AbstractEventLoop, pressed: asyncio.Event) -> None:
    # End of input counts as Enter. The loop may have been closed before Enter came.
    with contextlib.suppress(OSError, RuntimeError):
        os.read(sys.stdin.fileno(), 4096)
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(pressed.set)


async def _rehearse(display: TerminalDisplay, service: str, person: Participant) -> list[CheckedPromise]:
    policy = build_turn_policy()
    providers = provider_addresses(build_routing())
    tokens = token_folder(settings.COMPANION_STATE_DIR)
    jar = aiohttp.CookieJar(unsafe=True)
    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
        rehearsal = OutageRehearsal(
            display=display,
            browser=Browser(browser, service),
            providers=[stack.enter_context(RehearsalProvider(one, tokens=tokens)) for one in providers],
            read_transcript=lambda: sync_to_async(list_turns_of)(person.pk),
            lines=policy.lines,
            person=NAME.split()[0],
            character=policy.character,
            staff_turns_url=f"{service}/ops/turns/",
            code=(await sync_to_async(get_card)(person)).code,
            mark=f"rehearsal {secrets.token_hex(3)}",
            act_limit_s=policy.wait_ceiling_s + policy.turn_budget_s + 15,
        )
        return await rehearsal.run()


def _running_address(state_dir: Path) -> str:
    mend = "Start it and run this again, or name the service with --address."
    return web_addresses(state_dir, mend=mend)[0]


def _find_or_create_participant(slug: str | None) -> Participant:
    sites = list(Site.objects.filter(slug=slug) if slug else Site.objects.order_by("id"))
    # Reuse the participant of an earlier rehearsal, at whatever site.
    existing = [person for site in sites if (person := find_active_participant(NAME, site=site.slug))]
    if existing:
        return existing[0]
    if len(sites) != 1:
        listed = (
            ", ".join(Site.objects.order_by("slug").values_list("slug", flat=True))
            or "none; manage.py demo_site makes one"
        )
        raise CannotRehearse(
            f"Name the site of the rehearsal's participant with --site. There are: {listed}."
        )
    return add_participant(NAME, site=sites[0])
