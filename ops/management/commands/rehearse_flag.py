"""`manage.py rehearse_flag`: plays a flag from end to end against the running service."""

import asyncio
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

import aiohttp
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, transaction
from django.utils import timezone

from companion.models import Conversation, Participant, Site
from companion.participants import add_participant, get_card
from ops import audit
from ops.alerts.condition_queries import FLAG_REHEARSAL_SITE
from ops.chat_client.browser import Browser
from ops.chat_client.desk_client import open_desk, sign_staff_in
from ops.chat_client.errors import ChatFailed, ServiceUnavailable
from ops.database import fetch_count
from ops.models import Supervision
from ops.outage.errors import CannotRehearse, RehearsalBroke
from ops.outage.flag_rehearsal import FlagRehearsal
from ops.outage.rehearsal import CheckedPromise
from ops.people.staff import generate_password
from ops.project.wiring.turns import build_turn_policy
from ops.testbed.running_service import NoRunningService, web_addresses
from personas.errors import PersonaInvalid

PERSON, ACCOUNT, STAFF_NAME = "Nora (rehearsal)", "rehearsal-of-flags", "Robin Hall (rehearsal)"
HELPLINE = "0000 000 000"
NOT_STARTED, INTERRUPTED = 2, 130

COUNT_OTHERS = """
SELECT count(*) FROM ops_supervised v JOIN auth_user u ON u.id = v.user_id WHERE v.site_id = %s AND u.username <> %s
"""


class Command(BaseCommand):
    help = (
        "Plays a flag from end to end against the running service: a worrying sentence, the ring, acceptance, a "
        "take-over, words, the hand-back, the close. It has a site, a participant and an account of its own, and "
        "touches no others. Exit code 0: every promise was kept; 1: one was not; 2: it could not start."
    )
    # The command itself reports an invalid persona file, with its own exit code.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--address", metavar="URL", help="of the service, if no scripts/up runs it")

    def handle(self, *args: Any, address: str | None, **options: Any) -> None:
        try:
            service = address.rstrip("/") if address else _running_address()
            site, person, password = _prepare()
        except (CannotRehearse, NoRunningService) as refusal:
            raise CommandError(str(refusal), returncode=NOT_STARTED) from None
        except OperationalError:
            raise CommandError("The database does not answer.", returncode=NOT_STARTED) from None
        try:
            audit.record(
                audit.REHEARSED_FLAG,
                who=audit.get_account(),
                about=person.pk,
                note=audit.format_command_note(),
            )
            promises = asyncio.run(self._rehearse(service, person, password))
        except (ServiceUnavailable, PersonaInvalid) as refusal:
            raise CommandError(str(refusal), returncode=NOT_STARTED) from None
        except (ChatFailed, RehearsalBroke) as broke:
            raise CommandError(f"The rehearsal broke off. {broke}") from None
        except TimeoutError:
            raise CommandError("The rehearsal broke off. A step had no end within its time.") from None
        except aiohttp.ClientError:
            raise CommandError("The rehearsal broke off. The service stopped answering.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped before the end of the rehearsal.", returncode=INTERRUPTED) from None
        finally:
            _leave(site)
        self._report(promises)

    async def _rehearse(self, service: str, person: Participant, password: str) -> list[CheckedPromise]:
        policy = await asyncio.to_thread(build_turn_policy)
        conversation = await asyncio.to_thread(lambda: Conversation.objects.get(participant=person).pk)

        def write_line(line: str) -> None:
            self.stdout.write(line)
            self.stdout.flush()

        jars = [aiohttp.CookieJar(unsafe=True) for _ in range(2)]
        async with (
            aiohttp.ClientSession(cookie_jar=jars[0]) as guest,
            aiohttp.ClientSession(cookie_jar=jars[1]) as staff,
        ):
            browser = Browser(guest, service)
            await browser.check_ready()
            await sign_staff_in(staff, service, ACCOUNT, password)
            async with open_desk(staff, service) as desk:
                rehearsal = FlagRehearsal(
                    write_line=write_line,
                    browser=browser,
                    desk=desk,
                    conversation=conversation,
                    code=get_card(person).code,
                    lines=policy.lines,
                    person=PERSON,
                    staff_name=STAFF_NAME,
                )
                return await rehearsal.run()

    def _report(self, promises: list[CheckedPromise]) -> None:
        self.stdout.write("\nWhat was promised\n")
        for promise in promises:
            self.stdout.write(f"  {'kept    ' if promise.kept else 'NOT KEPT'}  {promise.says}")
        broken = sum(not promise.kept for promise in promises)
        if broken:
            raise CommandError(f"Not as promised: {broken} of {len(promises)} promises were not kept.")
        self.stdout.write(f"\nAs promised: {len(promises)} of {len(promises)} promises were kept.")


def _running_address() -> str:
    return web_addresses(settings.COMPANION_STATE_DIR, mend="Start it, or give --address.")[0]


@transaction.atomic
def _prepare() -> tuple[Site, Participant, str]:
    """The rehearsal's own site, its participant, and a new password of its account. Raises CannotRehearse."""
    site, _ = Site.objects.get_or_create(slug=FLAG_REHEARSAL_SITE, defaults={"name": "Rehearsal of flags"})
    strangers = Participant.objects.filter(site=site).exclude(name=PERSON)
    if strangers.exists() or fetch_count(COUNT_OTHERS, [site.pk, ACCOUNT]):
        raise CannotRehearse(
            f"The site {FLAG_REHEARSAL_SITE} is the rehearsal's own, and other people belong to it. Rehearse elsewhere."
        )
    Site.objects.filter(pk=site.pk).update(
        is_open=True,
        helpline_voice=HELPLINE,
        helpline_text=HELPLINE,
        helpline_owner="the rehearsal",
        helpline_review_by=timezone.localdate() + timedelta(days=1),
    )
    person = Participant.objects.filter(site=site, name=PERSON, is_active=True).first()
    person = person or add_participant(PERSON, site=site)
    user, _ = User.objects.get_or_create(username=ACCOUNT)
    if user.is_superuser or user.groups.exists():
        raise CannotRehearse(f"The account {ACCOUNT} has a role of its own. Take it away and rehearse again.")
    password = generate_password()
    user.first_name, user.is_staff, user.is_active = STAFF_NAME, True, True
    user.set_password(password)
    user.save()
    Supervision.objects.get_or_create(user=user, site=site)
    return site, person, password


def _leave(site: Site) -> None:
    """Close the rehearsal's site and its account until the next rehearsal."""
    Site.objects.filter(pk=site.pk).update(is_open=False)
    user = User.objects.filter(username=ACCOUNT).first()
    if user is not None:
        user.is_active = False
        user.set_unusable_password()
        user.save()
