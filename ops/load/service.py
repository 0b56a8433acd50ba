"""What is put under load: a service that runs already, or a private one that is started for it."""

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from ops.bench.children import DATABASE_STAGE, PROVIDER_STAGE, WEB_STAGE, Children
from ops.bench.place import database
from ops.load.errors import CannotLoad
from ops.load.stored import ceiling_of_operators
from ops.outage.errors import CannotPlay
from ops.outage.provider import addresses
from routing.lanes import Routing
from routing.rehearsal.doors import operator_headers

GAUGE = {"in_flight", "max_in_flight", "total"}


@dataclass(frozen=True, kw_only=True)
class Service:
    """Where it is. `pids` are its web processes, where they are known."""

    webs: Sequence[str]
    provider: str
    tokens: Path
    """Where the token of the provider's doors stands."""
    ceiling: int
    wait_ceiling_s: float
    pids: Sequence[int] = ()

    @property
    def sockets(self) -> list[str]:
        """The address of each web process's chat socket."""
        return [web.replace("http", "ws", 1) + "/ws/chat/" for web in self.webs]


def running(state_dir: Path, routing: Routing) -> Service:
    """The service of a running `scripts/up`. Raises CannotLoad; a real provider is never put under load."""
    try:
        facts = json.loads((state_dir / "run" / "environment.json").read_text())
        webs = [f"http://127.0.0.1:{port}" for port in facts["ports"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise CannotLoad(
            f"No scripts/up runs from {state_dir}. Start it and run this again, or add --own for a private service."
        ) from None
    try:
        found = addresses(routing)
    except CannotPlay as refusal:
        raise CannotLoad(str(refusal)) from None
    if len(found) != 1:
        raise CannotLoad(
            "The lanes lead to several providers; a load test watches one. Add --own for a private one."
        )
    tokens = state_dir / "run"
    _prove(found[0], tokens)
    limits = [ceiling_of_operators() or settings.COMPANION_CEILING, routing.presets["normal"].ceiling]
    head = routing.lanes[routing.presets["normal"].chain[0]].max_in_flight
    return Service(
        webs=webs,
        provider=found[0],
        tokens=tokens,
        ceiling=min(head, *(limit for limit in limits if limit is not None)),
        wait_ceiling_s=settings.COMPANION_WAIT_CEILING_S,
    )


@contextmanager
def private(
    started: Children, folder: Path, *, processes: int, ceiling: int, wait_ceiling_s: int
) -> Iterator[Service]:
    """A service of its own: database, rehearsal provider, web processes. `started` ends them."""
    postgres = database(folder)
    postgres.start()
    server = postgres.running
    if server is None:
        raise CannotLoad("The private database stopped as soon as it was there.")
    started.note("postgres", server.pid, stage=DATABASE_STAGE, with_signal=signal.SIGINT)
    call_command("migrate", verbosity=0)
    tokens = folder / "tokens"
    command = ["-m", "routing.rehearsal", "--port", "0", "--token-dir", str(tokens)]
    _, upstream = started.start("rehearsal", command, stage=PROVIDER_STAGE, says="rehearsal: ")
    own = {
        "REHEARSAL_URL": upstream,
        "COMPANION_CEILING": str(ceiling),
        "COMPANION_WAIT_CEILING_S": str(wait_ceiling_s),
    }
    webs = [
        started.start(
            f"web-{number}", ["manage.py", "serve", "--port", "0"], stage=WEB_STAGE, says="serving: ", **own
        )
        for number in range(1, processes + 1)
    ]
    try:
        yield Service(
            webs=[address for _, address in webs],
            provider=upstream.removesuffix("/v1"),
            tokens=tokens,
            ceiling=ceiling,
            wait_ceiling_s=wait_ceiling_s,
            pids=[pid for pid, _ in webs],
        )
    finally:
        for connection in connections.all():
            connection.close()
            connection.close_pool()  # type: ignore[attr-defined]


def _prove(provider: str, tokens: Path) -> None:
    headers = operator_headers(tokens, provider)
    try:
        answer = httpx.get(f"{provider}/gauge", headers=headers, trust_env=False, timeout=10).json()
    except (httpx.HTTPError, ValueError):
        answer = None
    if not (isinstance(answer, dict) and answer.keys() >= GAUGE):
        raise CannotLoad(
            f"What answers at {provider} is not the rehearsal provider. Nothing was asked of it. "
            "Start scripts/up without COMPANION_ROUTING, or add --own for a private service."
        )
