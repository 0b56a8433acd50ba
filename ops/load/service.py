"""The service under load: one that runs already, or a private one that is started for the test."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from ops.chat_client.frames import socket_url
from ops.load.errors import CannotLoad
from ops.load.stored import read_operators_ceiling
from ops.testbed.private_folder import postgres_in
from ops.testbed.processes import DATABASE_STAGE, PROVIDER_STAGE, WEB_STAGE, Children, cpu_meter
from ops.testbed.rehearsal_provider import NotRehearsalProvider, RehearsalProvider, provider_addresses
from ops.testbed.running_service import NoRunningService, token_folder, web_addresses
from routing.lanes import Routing


@dataclass(frozen=True, kw_only=True)
class ServiceUnderLoad:
    """Its addresses and limits. `pids` are its web processes, `cpu` reads the CPU seconds of each part so far; both are
    empty where they are not known."""

    webs: Sequence[str]
    provider: str
    tokens: Path
    """The folder that holds the provider's token."""
    ceiling: int
    wait_ceiling_s: float
    pids: Sequence[int] = ()
    cpu: Mapping[str, Callable[[], float]] = field(default_factory=dict)

    @property
    def socket_urls(self) -> list[str]:
        """The address of each web process's chat socket."""
        return [socket_url(web) for web in self.webs]


def find_running(state_dir: Path, routing: Routing) -> ServiceUnderLoad:
    """The service of a running `scripts/up`. Raises CannotLoad; a real provider is never put under load."""
    try:
        webs = web_addresses(
            state_dir, mend="Start it and run this again, or add --own for a private service."
        )
        providers = provider_addresses(routing)
    except (NoRunningService, NotRehearsalProvider) as refusal:
        raise CannotLoad(str(refusal)) from None
    if len(providers) != 1:
        raise CannotLoad(
            "The lanes lead to several providers; a load test watches one. Add --own for a private one."
        )
    tokens = token_folder(state_dir)
    with RehearsalProvider(providers[0], tokens=tokens) as provider:
        try:
            provider.prove()
        except NotRehearsalProvider as refusal:
            raise CannotLoad(f"{refusal} Or add --own for a private service.") from None
    limits = [read_operators_ceiling() or settings.COMPANION_CEILING, routing.presets["normal"].ceiling]
    head = routing.lanes[routing.presets["normal"].chain[0]].max_in_flight
    return ServiceUnderLoad(
        webs=webs,
        provider=providers[0],
        tokens=tokens,
        ceiling=min(head, *(limit for limit in limits if limit is not None)),
        wait_ceiling_s=settings.COMPANION_WAIT_CEILING_S,
    )


@contextmanager
def start_private(
    children: Children, folder: Path, *, processes: int, ceiling: int, wait_ceiling_s: int
) -> Iterator[ServiceUnderLoad]:
    """Start a database, a rehearsal provider and web processes. `children` ends them."""
    postgres = postgres_in(folder)
    postgres.start()
    server = postgres.running
    if server is None:
        raise CannotLoad("The private database stopped right after its start.")
    children.adopt("postgres", server.pid, stage=DATABASE_STAGE, end_signal=signal.SIGINT)
    call_command("migrate", verbosity=0)
    tokens = folder / "tokens"
    command = ["-m", "routing.rehearsal", "--port", "0", "--token-dir", str(tokens)]
    provider, upstream = children.start("rehearsal", command, stage=PROVIDER_STAGE, prefix="rehearsal: ")
    web_settings = {
        "REHEARSAL_URL": upstream,
        "COMPANION_CEILING": str(ceiling),
        "COMPANION_WAIT_CEILING_S": str(wait_ceiling_s),
    }
    webs = [
        children.start(
            f"web-{number}",
            ["manage.py", "serve", "--port", "0"],
            stage=WEB_STAGE,
            prefix="serving: ",
            **web_settings,
        )
        for number in range(1, processes + 1)
    ]
    try:
        yield ServiceUnderLoad(
            webs=[address for _, address in webs],
            provider=upstream.removesuffix("/v1"),
            tokens=tokens,
            ceiling=ceiling,
            wait_ceiling_s=wait_ceiling_s,
            pids=[pid for pid, _ in webs],
            cpu={
                "web": _sum_meters([cpu_meter(pid) for pid, _ in webs]),
                "PostgreSQL": cpu_meter(server.pid),
                "provider": cpu_meter(provider),
            },
        )
    finally:
        for connection in connections.all():
            connection.close()
            connection.close_pool()  # type: ignore[attr-defined]


def _sum_meters(meters: Sequence[Callable[[], float]]) -> Callable[[], float]:
    return lambda: sum(read() for read in meters)
