"""One web process: the turns, what watches over them, and what they report."""

import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils.timezone import localdate

from companion.doorbell import Doorbell
from companion.process import WebProcess
from companion.prompt import min_context_tokens
from companion.turn_end import TurnEnd
from companion.turn_policy import TurnPolicy
from ops.alerts.buffer import AlertBuffer
from ops.alerts.process_conditions import ConditionMonitor, WatchedFile, check_personas
from ops.alerts.watch import AlertWatch
from ops.character import get_languages
from ops.project.wiring.noticing import build_noticing, build_second_reader
from ops.project.wiring.pools import build_turn_pool
from ops.project.wiring.routing import build_copy
from ops.selections.store import RoutingStore
from ops.status.usage import UsageBuffer
from ops.supervision.escalation import EscalationLoops
from ops.supervision.ringing import send_due_rings
from ops.supervision.stage_timer import StageTimer
from personas.errors import PersonaInvalid
from personas.languages import language_path
from personas.load import load
from routing import lanes
from routing.adapters import build_adapters
from routing.adapters.transport import build_client
from routing.breaker import Tuning
from routing.chain import Caller
from routing.errors import RoutingFileInvalid


def build_process(policy: TurnPolicy, routing: lanes.Routing) -> WebProcess:
    """One web process. Call on the event loop it is to live on; it is started by `WebProcess.start`."""
    pool = build_turn_pool()
    # `process` is built below: the store calls it only once it runs.
    alerts = AlertBuffer(pool)
    store = RoutingStore(
        routing, build_copy(routing), pool, raise_alert=alerts.add, on_change=lambda: process.reroute()
    )
    usage = UsageBuffer(pool, routing)

    def on_end(end: TurnEnd) -> None:
        alerts.add_turn(end)
        usage.add_turn(end)

    watch = AlertWatch(pool, persona_versions=policy.list_versions())
    conditions = ConditionMonitor(
        routing,
        list(_watched_files(policy, routing)),
        is_rehearsed=settings.COMPANION_REHEARSED,
        needs=lambda lane: min_context_tokens(policy.system_prompt, max_tokens=lane.max_tokens),
        persona=lambda: check_personas(get_languages(), localdate()),
    )
    escalation = EscalationLoops(send_due_rings, before=StageTimer().bring_forward)
    caller = Caller(build_adapters(build_client(), gather_s=policy.tick_s))
    second = build_second_reader(pool, caller, routing, alerts)
    process = WebProcess(
        pool=pool,
        # A connection of its own, beside the pool: LISTEN holds one for as long as the process lives.
        build_bell=partial(Doorbell, settings.DATABASE_URL, connection_class=settings.ASYNC_CONNECTION_CLASS),
        policy=policy,
        process=uuid.uuid4(),
        caller=caller,
        route=store.route,
        tuning=Tuning(cooldown_s=settings.COMPANION_BREAKER_COOLDOWN_S),
        on_selection=store.follow,
        on_end=on_end,
        documents_refused=lambda: store.refused,
        conditions=lambda: conditions.current,
        noticing=build_noticing(alerts),
        on_message=second.submit if second else lambda _turn, _tier: None,
        extra_loops=(
            *([second.run] if second else []),
            store.run,
            alerts.run,
            usage.run,
            watch.run,
            conditions.run,
            escalation.escalate,
            escalation.send,
        ),
        on_database_back=replace_page_connections,
        database_moves=lambda: settings.PRIMARY_FINDER.moves,
    )
    return process


def replace_page_connections() -> None:
    """Replace the idle connections of Django's pool, which a restart of the database has closed.

    The pool itself finds a dead connection by its check, and waits longer before each next one: with eight of them a
    page would fail after ten seconds.
    """
    connection.pool.drain()  # type: ignore[attr-defined]


def _watched_files(policy: TurnPolicy, routing: lanes.Routing) -> Iterator[WatchedFile]:
    for language, texts in policy.translations.items():
        is_first = language == policy.language
        yield WatchedFile(
            name="character's file" if is_first else f"character's file ({language})",
            path=settings.COMPANION_PERSONA
            if is_first
            else language_path(settings.COMPANION_PERSONA, language),
            version=texts.persona_version,
            read=lambda path: load(path).version,
            refusal=PersonaInvalid,
        )
    if settings.COMPANION_ROUTING:
        yield WatchedFile(
            name="routing file",
            path=Path(settings.COMPANION_ROUTING),
            version=routing.file_hash,
            read=lambda path: lanes.load(path).file_hash,
            refusal=RoutingFileInvalid,
        )
