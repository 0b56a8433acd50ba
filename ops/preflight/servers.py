"""Whether the servers that the service calls can be reached: lanes, queue, mail, webhook. Nothing is asked or sent."""

import asyncio
import os
import smtplib
import ssl
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

import redis
from django.core.checks import CheckMessage, Error, Warning

from ops.alerts.mail import LimitedMail
from routing.contracts import Lane
from routing.lanes import NORMAL, Routing

REACH_TIMEOUT_S = 5.0
OLDEST_REDIS = 7


async def find_unreached(addresses: Iterable[str], *, timeout_s: float = REACH_TIMEOUT_S) -> dict[str, str]:
    """The web addresses whose server accepts no connection, each with a short reason. All are tried at once."""
    tried = list(dict.fromkeys(addresses))
    reasons = await asyncio.gather(*(_try_connect(address, timeout_s) for address in tried))
    return {address: reason for address, reason in zip(tried, reasons, strict=True) if reason}


async def _try_connect(address: str, timeout_s: float) -> str:
    parts = urlsplit(address)
    is_secure = parts.scheme == "https"
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(
                parts.hostname,
                parts.port or (443 if is_secure else 80),
                ssl=ssl.create_default_context() if is_secure else None,
            )
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except ssl.SSLCertVerificationError as failure:
        return f"its certificate is not accepted: {failure.verify_message}"
    except ssl.SSLError as failure:
        return f"TLS fails ({failure.reason})"
    except OSError as failure:
        # asyncio writes the address into `strerror`.
        return os.strerror(failure.errno) if failure.errno and failure.errno > 0 else "its name is not found"
    writer.close()
    return ""


def judge_lane_keys(routing: Routing, environ: Mapping[str, str]) -> Iterator[CheckMessage]:
    """Lanes whose key is not in this environment. An Error if no lane of the normal chain has its key."""
    missing = [
        lane
        for lane in routing.lanes.values()
        if lane.api_key_env and not environ.get(lane.api_key_env, "").strip()
    ]
    listed = ", ".join(f"{lane.api_key_env} (lane {lane.name})" for lane in missing)
    yield from _judge_lanes(
        routing,
        {lane.name for lane in missing},
        f"Not set in this environment: {listed}.",
        hint="Put them into the one environment that web processes, worker and commands share.",
        numbers=("E040", "W040"),
    )


def judge_lane_servers(routing: Routing, unreached: Mapping[str, str]) -> Iterator[CheckMessage]:
    """Lanes whose server was not reached; `unreached` holds the reason by `base_url`."""
    away = [lane for lane in routing.lanes.values() if lane.base_url in unreached]
    listed = "; ".join(
        f"{', '.join(lane.name for lane in lanes)} ({urlsplit(address).netloc}): {unreached[address]}"
        for address, lanes in _group(away).items()
    )
    yield from _judge_lanes(
        routing,
        {lane.name for lane in away},
        f"No connection to the server of these lanes: {listed}.",
        hint="Look at base_url in the routing file, at DNS and at the firewall. manage.py fallback_drill asks lanes.",
        numbers=("E041", "W041"),
    )


def _judge_lanes(
    routing: Routing, names: set[str], text: str, *, hint: str, numbers: tuple[str, str]
) -> Iterator[CheckMessage]:
    if not names:
        return
    if names.issuperset(routing.presets[NORMAL].chain):
        yield Error(f"{text} No lane of preset {NORMAL} is left.", hint=hint, id=f"companion.{numbers[0]}")
    else:
        yield Warning(text, hint=hint, id=f"companion.{numbers[1]}")


def _group(lanes: Iterable[Lane]) -> dict[str, list[Lane]]:
    """The lanes of each `base_url`."""
    grouped: dict[str, list[Lane]] = {}
    for lane in lanes:
        grouped.setdefault(lane.base_url, []).append(lane)
    return grouped


def judge_queue(url: str) -> Iterator[CheckMessage]:
    """Whether the queue answers, and is new enough."""
    client = redis.Redis.from_url(url, socket_timeout=REACH_TIMEOUT_S, socket_connect_timeout=REACH_TIMEOUT_S)
    try:
        with client:
            said = client.info("server")
    except (redis.RedisError, OSError) as failure:
        yield Warning(
            f"The queue does not answer ({type(failure).__name__}). Conversations go on; no alert is sent and no lane "
            "is drilled.",
            hint="Correct VALKEY_URL, or start Valkey.",
            id="companion.W042",
        )
        return
    version = str(said.get("redis_version", "0"))
    if int(version.partition(".")[0] or 0) < OLDEST_REDIS:
        yield Warning(
            f"The queue is of version {version}; this release is tried with Valkey, and Redis {OLDEST_REDIS} or newer.",
            hint="Install a newer one. It may be emptied for that.",
            id="companion.W043",
        )


def judge_mail() -> Iterator[CheckMessage]:
    """Whether the mail server accepts a connection, TLS and sign-in. Nothing is sent."""
    try:
        mail = LimitedMail()
        mail.open()
        mail.close()
    except (smtplib.SMTPException, OSError) as failure:
        yield Warning(
            f"The mail server does not accept us ({type(failure).__name__}): no alert goes out by e-mail.",
            hint="Correct EMAIL_URL: its scheme says whether TLS is used, and its user and password sign in.",
            id="companion.W044",
        )


def judge_webhook(unreached: Mapping[str, str]) -> Iterator[CheckMessage]:
    """Whether the webhook's server was reached. `unreached` holds the reason."""
    for reason in unreached.values():
        yield Warning(
            f"No connection to the server of ALERT_WEBHOOK_URL ({reason}): no alert is posted.",
            hint="Correct ALERT_WEBHOOK_URL, or the firewall.",
            id="companion.W046",
        )
