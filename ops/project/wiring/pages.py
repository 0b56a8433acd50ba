"""What pages are served from."""

import time
from collections.abc import Callable
from functools import cache

import redis
from django.conf import settings

from companion.page_context import PageContext
from companion.supervision.helplines import HelpAnswer
from companion.throttle import SignInThrottle
from ops.character import get_languages
from ops.project.wiring.turns import build_turn_policy
from ops.supervision.machine_events import note_machine_event


def build_page_context(raise_help: Callable[[int], HelpAnswer | None]) -> PageContext:
    """What the participants' pages are made of. Raises PersonaInvalid."""
    return PageContext(
        languages=get_languages(),
        policy=build_turn_policy(),
        throttle=build_throttle(),
        note_machine=note_machine_event,
        raise_help=raise_help,
    )


@cache
def build_throttle() -> SignInThrottle:
    """Who has tried the door too often. It connects when it is first asked."""
    pool = redis.BlockingConnectionPool.from_url(
        settings.VALKEY_URL,
        socket_timeout=0.3,
        socket_connect_timeout=0.3,
        max_connections=8,
        # Many sign-ins at once wait for one another; a full pool would look like a server that is away.
        timeout=5,
    )
    return SignInThrottle(
        redis.Redis(connection_pool=pool), most=settings.COMPANION_SIGN_IN_TRIES, now=time.monotonic
    )
