"""The sections of a preflight, in the order in which a start would meet their faults."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from django.conf import settings
from django.core.checks import CheckMessage, Error, run_checks
from django.db.utils import DatabaseError

from ops.alerts.process_conditions import check_routing, check_windows
from ops.backups.connecting.address import Address
from ops.backups.connecting.direct import explain_connection_error
from ops.preflight import database_addresses, machine, proxy, running, servers
from ops.preflight.database import find_refusals, judge_database
from ops.preflight.database_look import build_connect, commit_once, look_at_database
from ops.preflight.report import SectionResult
from routing.contracts import Lane
from routing.lanes import Routing

COMMIT_TIMEOUT_S = 5.0
UNREACHED = "The database was not reached."


@dataclass(frozen=True, kw_only=True, slots=True)
class PreflightParts:
    """What is checked beside the settings. `routing` is None, and `needs` unused, where the file is refused."""

    routing: Routing | None
    needs: Callable[[Lane], int]
    """The least context window of a lane, in tokens."""
    persona_versions: set[str]
    connections: int
    """Of one web process, at most."""
    read_figures: Callable[[], Mapping[str, Any]]
    """The figures of the moment. Raises DatabaseError."""


def run_sections(parts: PreflightParts) -> Iterator[SectionResult]:
    """Run one section after another, and yield the result of each."""
    yield SectionResult(
        name="Settings and files",
        messages=[
            *run_checks(include_deployment_checks=True),
            *_judge_own_conditions(parts),
        ],
    )
    yield SectionResult(
        name="State folder", messages=list(machine.judge_state_folder(settings.COMPANION_STATE_DIR))
    )
    database = list(judge_reached_database(connections=parts.connections))
    yield SectionResult(name="Database", messages=database)
    is_reached = all(message.id != "companion.E020" for message in database)
    can_commit = is_reached and all(
        message.id not in ("companion.E021", "companion.E023") for message in database
    )
    yield _run("Commit", can_commit, judge_commit)
    yield _run("Tables", is_reached, _judge_tables)
    yield _run("Backups", is_reached, _judge_backups)
    yield from _run_servers(parts)
    yield from _run_processes(parts, is_reached)


def judge_reached_database(*, connections: int) -> Iterator[CheckMessage]:
    """What is wrong with the database that DATABASE_URL names, or that it cannot be reached."""
    try:
        facts = asyncio.run(look_at_database(build_connect()))
    except psycopg.OperationalError as failure:
        address = Address.parse(settings.DATABASE_URL, setting="DATABASE_URL", may_name_several=True)
        stop = explain_connection_error(failure, address, setting="DATABASE_URL")
        yield Error(f"The database cannot be used. {stop.what}", hint=stop.mend, id="companion.E020")
    except (psycopg.Error, TimeoutError) as failure:
        yield Error(
            f"The database cannot be used: it does not answer ({type(failure).__name__}).",
            hint="Look at the server's log; a pooler may be waiting for a free connection.",
            id="companion.E020",
        )
    else:
        yield from judge_database(facts, connections=connections)


def judge_refusals() -> Iterator[CheckMessage]:
    """What keeps a process from starting on this database. Nothing is said of a database that is away."""
    with suppress(psycopg.Error, TimeoutError):
        yield from find_refusals(asyncio.run(look_at_database(build_connect())))


def judge_commit() -> Iterator[CheckMessage]:
    """Whether what is stored reaches the disk, and the standby where one is waited for."""
    try:
        asyncio.run(commit_once(build_connect(), within_s=COMMIT_TIMEOUT_S))
    except TimeoutError:
        yield Error(
            f"A commit takes longer than {COMMIT_TIMEOUT_S:g} s, so no word would be shown.",
            hint="If synchronous_standby_names is set, start the standby; otherwise look at the server's disk.",
            id="companion.E029",
        )
    except psycopg.Error as failure:
        yield Error(
            f"The database cannot store anything (SQLSTATE {failure.sqlstate or type(failure).__name__}).",
            hint="53100 is a full disk: make room there.",
            id="companion.E029",
        )


def _judge_own_conditions(parts: PreflightParts) -> Iterator[CheckMessage]:
    if parts.routing is not None:
        yield from running.judge_conditions(
            [
                *check_routing(parts.routing, is_rehearsed=settings.COMPANION_REHEARSED),
                *check_windows(parts.routing, needs=parts.needs),
            ],
            by="",
            number="companion.W002",
        )


def _judge_tables() -> Iterator[CheckMessage]:
    return database_addresses.judge_tables("owner" if "owner" in settings.DATABASES else "default")


def _judge_backups() -> Iterator[CheckMessage]:
    return database_addresses.judge_direct_address(settings.DIRECT_DATABASE_URL, settings.DATABASE_URL)


def _run_servers(parts: PreflightParts) -> Iterator[SectionResult]:
    lanes = () if parts.routing is None else tuple(parts.routing.lanes.values())
    hooks = [settings.ALERT_WEBHOOK_URL] if settings.ALERT_WEBHOOK_URL else []
    unreached = asyncio.run(servers.find_unreached([*(lane.base_url for lane in lanes), *hooks]))
    if parts.routing is None:
        yield SectionResult(name="Lanes", skipped="The routing file is refused.")
    else:
        keys = servers.judge_lane_keys(parts.routing, os.environ)
        yield SectionResult(
            name="Lanes", messages=[*keys, *servers.judge_lane_servers(parts.routing, unreached)]
        )
    yield SectionResult(name="Queue", messages=list(servers.judge_queue(settings.VALKEY_URL)))
    if settings.MAIL_SERVER is not None:
        yield SectionResult(name="Mail", messages=list(servers.judge_mail()))
    if hooks:
        messages = servers.judge_webhook({url: unreached[url] for url in hooks if url in unreached})
        yield SectionResult(name="Webhook", messages=list(messages))


def _run_processes(parts: PreflightParts, is_reached: bool) -> Iterator[SectionResult]:
    if not is_reached:
        yield SectionResult(name="Processes", skipped=UNREACHED)
        return
    try:
        figures = parts.read_figures()
    except DatabaseError:
        yield SectionResult(name="Processes", skipped="The tables are not those of this release.")
        return
    messages = list(running.judge_running(figures, persona_versions=parts.persona_versions))
    yield SectionResult(name="Processes", messages=messages)
    public = next((origin for origin in settings.TRUSTED_ORIGINS if origin.startswith("https:")), "")
    if public and running.count_alive(figures):
        yield SectionResult(name="Proxy", messages=list(asyncio.run(proxy.judge_proxy(public))))
    else:
        yield SectionResult(
            name="Proxy", skipped="No web process runs, or TRUSTED_ORIGINS names no HTTPS address."
        )


def _run(name: str, is_reached: bool, judge: Callable[[], Iterable[CheckMessage]]) -> SectionResult:
    if not is_reached:
        return SectionResult(name=name, skipped=UNREACHED)
    messages: Sequence[CheckMessage] = list(judge())
    return SectionResult(name=name, messages=messages)
