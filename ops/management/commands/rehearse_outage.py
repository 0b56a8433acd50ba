"""`manage.py rehearse_outage [--pause-between]`: a reply breaks off before your eyes, and is made good."""

import asyncio
import contextlib
import json
import os
import secrets
import sys
from argparse import ArgumentParser
from pathlib import Path
from threading import Thread
from typing import Any

import aiohttp
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from companion.access import add_participant, find_active_participant, get_card
from companion.models import Participant, Site
from ops import audit, names
from ops.changes import Refused
from ops.outage.errors import CannotPlay, StoryBroke
from ops.outage.play import Play, Promise
from ops.outage.provider import RehearsalProvider, addresses
from ops.outage.visitor import Visitor
from ops.transcripts.queries import stories_of
from personas.errors import PersonaInvalid
from routing.errors import RoutingFileInvalid

NAME = "Nora (rehearsal)"
NOT_PLAYED, INTERRUPTED = 2, 130


class Command(BaseCommand):
    help = (
        "Plays the story of a failing reply against a running scripts/up and its rehearsal provider. "
        "Exit code 0: it went as promised; 1: it did not; 2: it could not be played."
    )
    # It says itself what is wrong with the persona file, and why it cannot be played then.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--pause-between", action="store_true", help="wait for Enter between the acts")
        parser.add_argument("--site", metavar="SLUG", help="where the rehearsal's participant is at home")
        parser.add_argument("--address", metavar="URL", help="of the service, if no scripts/up runs it")

    def handle(
        self, *args: Any, pause_between: bool, site: str | None, address: str | None, **options: Any
    ) -> None:
        stage = Terminal(self, waits=pause_between)
        try:
            service = address.rstrip("/") if address else _address_of_up(settings.COMPANION_STATE_DIR)
            person = _participant(site and names.slug(site))
            note = audit.by_command("rehearse_outage")
            audit.record(audit.READ_TRANSCRIPT, who=audit.this_account(), about=person.pk, note=note)
            promises = asyncio.run(_play(stage, service, person))
        except (CannotPlay, Refused) as refusal:
            raise CommandError(str(refusal), returncode=NOT_PLAYED) from None
        except (PersonaInvalid, RoutingFileInvalid) as refusal:
            raise CommandError(
                f"The service cannot run like this. {refusal}", returncode=NOT_PLAYED
            ) from None
        except StoryBroke as broke:
            raise CommandError(f"The story was not as promised. {broke}") from None
        except TimeoutError:
            raise CommandError("The story was not as promised. A turn had no end within its time.") from None
        except (aiohttp.ClientError, OperationalError) as failure:
            away = "The database" if isinstance(failure, OperationalError) else "The service or its provider"
            raise CommandError(f"The story was not as promised. {away} stopped answering.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped before the end of the story.", returncode=INTERRUPTED) from None
        self._judge(promises)

    def _judge(self, promises: list[Promise]) -> None:
        self.stdout.write("\nWhat was promised\n")
        for promise in promises:
            self.stdout.write(f"  {'kept    ' if promise.kept else 'NOT KEPT'}  {promise.says}")
        broken = sum(not promise.kept for promise in promises)
        if broken:
            raise CommandError(
                f"The story was not as promised: {broken} of {len(promises)} promises were not kept."
            )
        self.stdout.write(
            f"\nThe story was as promised: {len(promises)} of {len(promises)} promises were kept."
        )


class Terminal:
    """Shows the story on standard output, each piece the moment it comes."""

    def __init__(self, command: BaseCommand, *, waits: bool) -> None:
        self._out = command.stdout
        self._waits = waits

    def tell(self, line: str) -> None:
        self._out.write(line)
        self._out.flush()

    def words(self, text: str) -> None:
        self._out.write(text, ending="")
        self._out.flush()

    async def between(self) -> None:
        if self._waits:
            self.words("\n  Press Enter to go on. ")
            pressed, loop = asyncio.Event(), asyncio.get_running_loop()
            # A thread that nobody waits for: Ctrl-C must end the command while it still reads.
            Thread(target=_wait_for_enter, args=(loop, pressed), daemon=True).start()
            await pressed.wait()


def _wait_for_enter(loop: asyncio.AbstractEventLoop, pressed: asyncio.Event) -> None:
    # The end of the input goes on as well; and the loop may have ended meanwhile.
    with contextlib.suppress(OSError, RuntimeError):
        os.read(sys.stdin.fileno(), 4096)
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(pressed.set)


async def _play(stage: Terminal, service: str, person: Participant) -> list[Promise]:
    # Wiring reads the persona file and the routing file, so it is asked late.
    from ops.project import wiring

    policy, character = wiring.build_turn_policy(), wiring.build_persona()
    providers = addresses(wiring.build_routing())
    tokens = settings.COMPANION_STATE_DIR / "run"
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as browser, aiohttp.ClientSession() as operator:
        play = Play(
            stage=stage,
            visitor=Visitor(browser, service),
            providers=[RehearsalProvider(operator, provider, tokens=tokens) for provider in providers],
            stories=lambda: sync_to_async(stories_of)(person.pk),
            lines=policy.lines,
            person=NAME.split()[0],
            character=character.name,
            desk=f"{service}/ops/turns/",
            code=(await sync_to_async(get_card)(person)).code,
            mark=f"rehearsal {secrets.token_hex(3)}",
            act_limit_s=policy.wait_ceiling_s + policy.turn_budget_s + 15,
        )
        return await play.run()


def _address_of_up(state_dir: Path) -> str:
    try:
        facts = json.loads((state_dir / "run" / "environment.json").read_text())
        return f"http://127.0.0.1:{facts['ports'][0]}"
    except (OSError, ValueError, KeyError, IndexError):
        raise CannotPlay(
            f"No scripts/up runs from {state_dir}. Start it and run this again, or name the service with --address."
        ) from None


def _participant(slug: str | None) -> Participant:
    sites = list(Site.objects.filter(slug=slug) if slug else Site.objects.order_by("id"))
    # Wherever the rehearsal's participant lives already, she stays.
    known = [person for site in sites if (person := find_active_participant(NAME, site=site.slug))]
    if known:
        return known[0]
    if len(sites) != 1:
        listed = (
            ", ".join(Site.objects.order_by("slug").values_list("slug", flat=True))
            or "none; manage.py demo_site makes one"
        )
        raise CannotPlay(
            f"Say with --site where the rehearsal's participant is to be at home. There are: {listed}."
        )
    return add_participant(NAME, site=sites[0])
