"""The only place that builds objects: one web process from the settings."""

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.db import connection
from django.utils.timezone import localdate
from psycopg_pool import AsyncConnectionPool

from companion.machines.screens import MachineScreens
from companion.page_context import PageContext
from companion.process import WebProcess
from companion.prompt import min_context_tokens
from companion.supervision.acts import StaffActs
from companion.supervision.noticing import Noticing
from companion.supervision.second_reading import SecondReader, SecondReadingPolicy
from companion.throttle import SignInThrottle
from companion.turn_end import TurnEnd
from companion.turn_policy import CharacterTexts, TurnPolicy
from ops.alerts.buffer import AlertBuffer
from ops.alerts.kinds import AlertKind
from ops.alerts.process_conditions import ConditionMonitor, WatchedFile, check_personas
from ops.alerts.sending import build_transports
from ops.alerts.watch import AlertWatch
from ops.backups.reporting import records
from ops.people.cards import get_public_url
from ops.personal_data import erasure, erasure_list
from ops.project.addresses import VANISHED_SERVER
from ops.selections.board import board_summary, build_concerns, read_board
from ops.selections.last_known_good import LastKnownGood
from ops.selections.selector import Selector
from ops.selections.store import RoutingStore
from ops.socket_access import StaffSessions
from ops.staff.dashboard_page import get_turn_url
from ops.status.caching import BackgroundValue, CachedValue
from ops.status.figures import StatusSettings
from ops.status.live import LiveStatus
from ops.status.rules import POLICY_MEANINGS, list_rules
from ops.status.usage import UsageBuffer, list_usage
from ops.supervision.acting import DeskActs
from ops.supervision.desk import LiveDesk
from ops.supervision.escalation import EscalationLoops
from ops.supervision.figures import build_document
from ops.supervision.machine_events import note_machine_event
from ops.supervision.record import record_act
from ops.supervision.ringing import send_rings
from ops.supervision.stage_timer import StageTimer
from personas import safety
from personas.errors import PersonaInvalid
from personas.languages import language_path, load_languages
from personas.load import load
from personas.safety import SafetyRules
from personas.safety.several import SeveralRules
from personas.schema import Persona, system_prompt
from routing import lanes
from routing.adapters import build_adapters
from routing.adapters.transport import build_client
from routing.breaker import Tuning
from routing.chain import Caller
from routing.errors import RoutingFileInvalid

log = logging.getLogger(__name__)


@cache
def build_languages() -> dict[str, Persona]:
    """The character by language, the first one first. Raises PersonaInvalid.

    Read once, so that pages and turns of a process never show two versions.
    """
    return load_languages(settings.COMPANION_PERSONA)


def build_persona() -> Persona:
    """The character in its first language. Raises PersonaInvalid."""
    return next(iter(build_languages().values()))


def build_safety_rules() -> SafetyRules:
    """The rules that read messages and replies, read once in every language. Raises SafetyInvalid."""
    for language, _ in settings.LANGUAGES:
        safety.load(language)
    return safety.load()


def build_translated_rules() -> dict[str, SeveralRules]:
    """The rules for people of each other language of the character, with English. Raises SafetyInvalid."""
    others = [language for language in build_languages() if language != "en"]
    return {
        language: SeveralRules([language, "en"], [safety.load(language), safety.load()])
        for language in others
    }


def build_page_context(raise_help: Callable[[int], str]) -> PageContext:
    """What the participants' pages are made of. Raises PersonaInvalid."""
    return PageContext(
        languages=build_languages(),
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


def build_turn_policy() -> TurnPolicy:
    """The figures and drafted lines that turns run by. Raises PersonaInvalid."""
    translations = {
        language: CharacterTexts(
            lines=persona.lines,
            character=persona.name,
            system_prompt=system_prompt(persona),
            persona_version=persona.version,
        )
        for language, persona in build_languages().items()
    }
    first = build_persona().language
    texts = {field.name: getattr(translations[first], field.name) for field in fields(CharacterTexts)}
    return TurnPolicy(language=first, translations=translations, **texts, **_policy_settings())


def _policy_settings() -> dict[str, Any]:
    """The fields of TurnPolicy that can be set: `hold_s` is COMPANION_HOLD_S."""
    names = {field.name: f"COMPANION_{field.name.upper()}" for field in fields(TurnPolicy)}
    return {field: getattr(settings, name) for field, name in names.items() if hasattr(settings, name)}


@cache
def build_routing() -> lanes.Routing:
    """The file that COMPANION_ROUTING names, or the rehearsal provider; read once. Raises RoutingFileInvalid."""
    if settings.COMPANION_ROUTING:
        return lanes.load(Path(settings.COMPANION_ROUTING))
    return lanes.rehearsal_routing(settings.REHEARSAL_URL)


async def _plan_once(connection: psycopg.AsyncConnection[Any]) -> None:
    # A statement comes again and again with values of the same shape: to plan it each time took longer than to
    # carry it out.
    await connection.execute("SET plan_cache_mode = force_generic_plan")


@cache
def build_facts() -> StatusSettings:
    """What the figures of the moment are held against, and every rule the service runs by."""
    policy, routing = build_turn_policy(), build_routing()
    numbers = {
        setting.name: setting.meaning for setting in settings.DECLARED_SETTINGS if setting.low is not None
    }
    values = {name: getattr(settings, name) for name in numbers}
    values |= {name: getattr(policy, name) for name in POLICY_MEANINGS}
    return StatusSettings(
        ceiling=policy.ceiling,
        wait_ceiling_s=settings.COMPANION_WAIT_CEILING_S,
        hold_s=settings.COMPANION_HOLD_S,
        persona={"name": policy.character, "version": policy.persona_version},
        routing={
            "version": 0,
            "preset": lanes.NORMAL,
            "chain": [],
            "scripted": routing.is_rehearsed,
            "routing_hash": routing.file_hash,
            "normal_weakness": routing.weakness(lanes.NORMAL),
        },
        preset_ceiling=routing.presets[lanes.NORMAL].ceiling,
        alert_transports=len(settings.ALERT_EMAIL) + bool(settings.ALERT_WEBHOOK_URL),
        rules=tuple(list_rules(values, {**numbers, **POLICY_MEANINGS})),
    )


def facts_now() -> StatusSettings:
    """The same, with the chain that is in force and how its lanes are. For pages: uses Django's connection."""
    seen = read_board(build_routing())
    ceiling = build_routing().presets[seen.preset].ceiling
    return replace(
        build_facts(),
        routing=dict(board_summary(seen)),
        preset_ceiling=ceiling,
        drill=records.make_status(settings.COMPANION_STATE_DIR),
        usage=tuple(day.build_document() for day in list_usage(2)),
        flags=_flag_figures(),
    )


_flag_figures = CachedValue(
    lambda: build_document(target_s=settings.COMPANION_FLAG_TARGET_S), for_s=15.0, now=time.monotonic
)
"""Figures of weeks need not be of this second."""


def build_facts_lately() -> BackgroundValue[StatusSettings]:
    """The same for an event loop, which may not wait for Django's connection: as it was a moment ago."""

    def read() -> StatusSettings:
        try:
            return facts_now()
        finally:
            connection.close()

    return BackgroundValue(read, first=build_facts(), for_s=2.0, now=time.monotonic)


def build_live() -> LiveStatus:
    """The figures that staff watch on one process. Its pool is its own: watching takes no connection from a reply."""
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        settings.DATABASE_URL,
        min_size=0,
        max_size=2,
        timeout=4,
        open=False,
        kwargs={"connect_timeout": 4, "application_name": "companion staff", "autocommit": True},
        name="staff",
    )
    return LiveStatus(pool, StaffSessions(pool), settings=build_facts_lately(), turn_url=get_turn_url)


def forget_erased() -> None:
    """Erase again those of this machine's lists of erasures who are back in the database, and finish what was begun.

    Raises ListUnreadable. A database that cannot be read now keeps the process from serving.
    """
    lists = erasure_list.get_lists(settings.COMPANION_STATE_DIR)
    try:
        people = [person for path in lists for person in erasure_list.read_list(path)]
        count = erasure.forget_again(people, by="the service", lists=lists) + erasure.finish_erasures(lists)
        if count:
            log.warning("web.forgot_again people=%d", count)
    finally:
        connection.close()


def send_flag_rings() -> int:
    """Send the rings of flags that are due. Uses Django's connection."""
    desk_url = f"{get_public_url()}/ops/people/"
    return send_rings(build_transports(desk_url), desk_url=desk_url)


def build_desk(process: WebProcess) -> tuple[LiveDesk, DeskActs]:
    """The screens of staff on one process. Its pool is its own: supervision takes no connection from a reply."""
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        settings.DATABASE_URL,
        min_size=0,
        max_size=6,
        timeout=4,
        open=False,
        kwargs={**VANISHED_SERVER, "application_name": "companion desk", "autocommit": True},
        configure=_plan_once,
        name="desk",
    )
    acts = StaffActs(
        pool,
        process.policy,
        process=process.id,
        record=record_act,
        run_gate=process.ledger.run_gate,
        on_change=process.on_staff_act,
    )
    desk = LiveDesk(pool, StaffSessions(pool), acts, process=process.id)
    process.add_listener(desk.on_notification)
    answers = DeskActs(
        desk,
        acts,
        history=process.history,
        watchers=process.watchers,
        note_writing=lambda conversation, staff: process.safety.note_writing(conversation, staff=staff),
    )
    return desk, answers


def build_machine_screens(process: WebProcess) -> MachineScreens:
    """The waiting pages of shared machines on one process. They read little, so one connection is enough."""
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        settings.DATABASE_URL,
        min_size=0,
        max_size=2,
        timeout=4,
        open=False,
        kwargs={**VANISHED_SERVER, "application_name": "companion machines", "autocommit": True},
        name="machines",
    )
    screens = MachineScreens(pool)
    process.add_listener(screens.on_notification)
    return screens


def build_pool() -> AsyncConnectionPool[Any]:
    """The connections of turns and sockets. Pages have Django's own, so that a slow page cannot delay a reply."""
    return AsyncConnectionPool(
        settings.DATABASE_URL,
        min_size=2,
        max_size=8,
        timeout=5,
        open=False,
        # A pooler between us and the server would lose prepared statements; direct connections keep them. A single
        # statement is one trip when it commits by itself, and three when a transaction is put around it.
        kwargs={
            **VANISHED_SERVER,
            "application_name": "companion",
            "autocommit": True,
            "prepare_threshold": 0,
        },
        configure=_plan_once,
        name="companion",
    )


def build_process(policy: TurnPolicy, routing: lanes.Routing) -> WebProcess:
    """One web process. Call on the event loop it is to live on; it is started by `WebProcess.start`."""
    pool = build_pool()
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
        persona=lambda: check_personas(build_languages(), localdate()),
    )
    escalation = EscalationLoops(send_flag_rings, before=StageTimer().bring_forward)
    caller = Caller(build_adapters(build_client(), gather_s=policy.tick_s))
    second = build_second_reader(pool, caller, routing, alerts)
    process = WebProcess(
        pool=pool,
        # A connection of its own, beside the pool: LISTEN holds one for as long as the process lives.
        bell_url=settings.DATABASE_URL,
        policy=policy,
        process=uuid.uuid4(),
        caller=caller,
        route=store.route,
        tuning=Tuning(cooldown_s=settings.COMPANION_BREAKER_COOLDOWN_S),
        on_selection=store.follow,
        on_end=on_end,
        documents_refused=lambda: store.refused,
        conditions=lambda: conditions.current,
        noticing=Noticing(
            build_safety_rules(),
            translations=build_translated_rules(),
            on_broken=lambda rule: alerts.add(AlertKind.SAFETY_RULE_BROKEN, rule),
        ),
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
    )
    return process


def build_second_reader(
    pool: AsyncConnectionPool[Any], caller: Caller, routing: lanes.Routing, alerts: AlertBuffer
) -> SecondReader | None:
    """What reads messages after they were stored; None: it is off. Raises RoutingFileInvalid for an unknown lane."""
    name = settings.COMPANION_SECOND_READING_LANE
    if not name:
        return None
    if name not in routing.lanes:
        known = ", ".join(routing.lanes)
        raise RoutingFileInvalid(
            f"COMPANION_SECOND_READING_LANE: no lane is called {name!r}. Name one of: {known}."
        )
    rules = build_safety_rules()
    policy = SecondReadingPolicy(
        lane=routing.lanes[name],
        question=rules.second_reading,
        version=rules.version,
        calls_per_minute=settings.COMPANION_SECOND_READING_CALLS,
        seconds=settings.COMPANION_SECOND_READING_S,
    )
    return SecondReader(
        pool,
        caller,
        policy,
        on_trouble=lambda code: alerts.add(AlertKind.SECOND_READING, f"lane {name}, {code}"),
    )


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


def build_selector(routing: lanes.Routing) -> Selector:
    """Selects presets for people: on pages and in commands."""
    return Selector(
        routing, concerns_about=build_concerns(routing), copy_version=lambda: build_copy(routing).version
    )


def build_copy(routing: lanes.Routing) -> LastKnownGood:
    """The copy of the selection on this machine's disk."""
    return LastKnownGood(settings.COMPANION_STATE_DIR, routing)
