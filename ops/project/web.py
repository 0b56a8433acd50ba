"""One web process: Daphne, with a beginning and an end.

Stock Daphne has neither: it does not announce that it starts, and on SIGTERM it leaves as soon as the first
consumer has ended, without a close frame.
"""

import asyncio
import gc
import logging
import os
import resource
import socket
import sys
from typing import Any

from daphne.server import Server
from django.conf import settings
from django.db import connection
from twisted.internet import defer, reactor, task
from twisted.internet.endpoints import AdoptedStreamServerEndpoint, TCP4ServerEndpoint

from companion.guarded_consumer import COME_BACK
from companion.process import WebProcess
from ops.personal_data import erasure, erasure_list
from ops.preflight.start import DatabaseRefused, wait_for_database
from ops.project import asgi
from ops.project.bounded_http import BoundedFactory
from ops.project.bounded_socket import BoundedSocket
from ops.project.callers import Callers
from ops.project.logs import report_repeated
from ops.project.unread import spare_debug_texts
from ops.project.wiring.desk import build_desk, build_machine_screens
from ops.project.wiring.noticing import build_safety_rules
from ops.project.wiring.process import build_process
from ops.project.wiring.routing import build_routing
from ops.project.wiring.status import build_live
from ops.project.wiring.turns import build_turn_policy

log = logging.getLogger(__name__)

BACKLOG = 2048
LOOK_EVERY_S = 1.0
REPORT_EVERY_S = 60.0
FILES_KEPT = 256
"""Open files that are left for the database, providers and logs when clients have taken all others."""
MAX_FILES = 1_048_576
"""Taken for the limit where the system names none."""
CONNECTIONS_PER_PAGE = 2
CONNECTIONS_BESIDE_PAGES = 200
"""A page holds one socket and, for a moment, connections for what it is made of."""
REQUESTS_END_WITHIN_S = 4.0
"""Pages that are being made when the process leaves have this time beside the grace of running replies."""
REFUSED = 78
"""Exit code for a configuration that must be mended by a person."""


class WebServer(Server):
    """Daphne that starts a WebProcess before it listens and drains it before it leaves."""

    def __init__(self, *, host: str, port: int, process: Any, descriptor: int | None = None) -> None:
        super().__init__(
            application=asgi.application,
            endpoints=[f"tcp:port={port}:interface={host}"],
            ping_interval=25,
            ping_timeout=20,
            websocket_connect_timeout=60,
            websocket_handshake_timeout=60,
            websocket_max_message_size=262_144,
            websocket_max_frame_size=262_144,
            # Without a trusted proxy the caller itself chooses the header.
            proxy_forwarded_address_header="X-Real-IP" if settings.COMPANION_BEHIND_PROXY else None,
            server_name="",
            verbosity=1,
        )
        self._host = host
        self._port = port
        self._descriptor = descriptor
        self._build = process
        self._process: WebProcess | None = None
        self.callers = Callers(
            per_address=None if settings.COMPANION_BEHIND_PROXY else _connections_per_address(),
            total=max(FILES_KEPT, raise_file_limit() - FILES_KEPT),
        )
        self.exit_code = 0

    def run(self) -> None:
        """Serve until a signal; returns when everything is stored and closed."""
        # Stock Daphne would listen before anything has begun; here `_begin` listens last.
        self.endpoints: list[str] = []
        reactor.callWhenRunning(lambda: asyncio.ensure_future(self._begin()))
        super().run()

    async def _begin(self) -> None:
        try:
            await wait_for_database()
            self._process = self._build()
            await self._process.start()
            # A restored backup forgets again before anyone is let in.
            await asyncio.to_thread(forget_erased)
            asgi.running.append(self._process)
            asgi.watched.append(build_live())
            asgi.desks.append(build_desk(self._process))
            asgi.machines.append(build_machine_screens(self._process))
            _spare_the_collector()
            self._bound_clients()
            listening = await self._endpoint().listen(self.http_factory).asFuture(asyncio.get_running_loop())
            self.listeners.append(listening)
            print(f"serving: http://{self._host}:{listening.getHost().port}", flush=True)
        except DatabaseRefused as refusal:
            sys.stderr.write(f"The service does not start. {refusal}\n")
            self.exit_code = REFUSED
            self.stop()
        except Exception as failure:
            log.critical("web.cannot_start cause=%s", type(failure).__name__)
            sys.stderr.write(f"web: cannot start on port {self._port}: {failure}\n")
            self.exit_code = 1
            self.stop()

    def _bound_clients(self) -> None:
        """Serve with our own channels and sockets, which bound what one client may ask for."""
        self.http_factory = BoundedFactory(self, self.callers)
        self.ws_factory.protocol = BoundedSocket
        self.ws_factory.callers = self.callers
        # A frame beyond the bound gets a close code instead of a reset, and time to read it.
        self.ws_factory.setProtocolOptions(failByDrop=False, closeHandshakeTimeout=3)
        task.LoopingCall(self.callers.check_deadlines).start(LOOK_EVERY_S, now=False)
        task.LoopingCall(report_repeated).start(REPORT_EVERY_S, now=False)

    def _endpoint(self) -> Any:
        if self._descriptor is not None:
            # The parent process listens already and continues after us: callers wait instead of being refused.
            return AdoptedStreamServerEndpoint(reactor, self._descriptor, socket.AF_INET)  # type: ignore[no-untyped-call]
        return TCP4ServerEndpoint(  # type: ignore[no-untyped-call]
            reactor, self._port, backlog=BACKLOG, interface=self._host
        )

    def kill_all_applications(self) -> "defer.Deferred[Any]":
        """Run by the reactor before it leaves: drain, close, and only then cancel what is left."""
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._end()))

    async def _end(self) -> None:
        for listening in self.listeners:
            listening.stopListening()
        if self._process is not None:
            try:
                await self._process.drain()
                for live in asgi.watched:
                    await live.close(COME_BACK)
                for desk, _ in asgi.desks:
                    await desk.close(COME_BACK)
                for machines in asgi.machines:
                    await machines.close(COME_BACK)
                await asgi.requests.finish(within_s=REQUESTS_END_WITHIN_S)
                # The close frames leave with the next turns of the loop.
                await asyncio.sleep(0.05)
                await self._process.stop()
            except Exception as failure:
                log.error("web.left_untidily cause=%s", type(failure).__name__)
        left = [
            details["application_instance"]
            for details in self.connections.values()
            if "application_instance" in details and not details["application_instance"].done()
        ]
        for application in left:
            application.cancel()
        if left:
            await asyncio.wait(left, timeout=2)


def forget_erased() -> None:
    """Erase again those of this machine's lists of erasures who are back in the database, and finish what was begun.

    Raises ListUnreadable. A database that cannot be read now keeps the process from serving.
    """
    lists = erasure_list.get_lists(settings.COMPANION_STATE_DIR)
    try:
        people = [person for path in lists for person in erasure_list.read_list(path)]
        if count := erasure.forget_again(people, by="the service", lists=lists):
            log.warning("web.forgot_again people=%d", count)
    finally:
        connection.close()


def raise_file_limit() -> int:
    """Allow this process as many open files as it may have; returns that number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else MAX_FILES


def _connections_per_address() -> int:
    per_address: int = settings.COMPANION_PAGES_PER_ADDRESS
    return per_address * CONNECTIONS_PER_PAGE + CONNECTIONS_BESIDE_PAGES


def _spare_the_collector() -> None:
    # What is loaded by now stays until the end, so no collection needs to look at it again; and a crowd makes and
    # forgets objects so quickly that the usual thresholds would have one every few milliseconds.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def serve(*, host: str, port: int, descriptor: int | None = None) -> int:
    """Serve on this port, or on a listening socket that was handed over, until told to leave. Returns the exit code."""
    policy = build_turn_policy()
    routing = build_routing()
    # Read now: a broken file stops the start.
    build_safety_rules()
    if routing.is_rehearsed:
        log.warning("web.scripted_replies no routing file is set, so the rehearsal provider answers people")
    server = WebServer(
        host=host, port=port, descriptor=descriptor, process=lambda: build_process(policy, routing)
    )
    spare_debug_texts()
    # The command that imports this disables it.
    gc.enable()
    server.run()
    if asgi.requests:
        # Their threads wait for an event loop that has ended, and an orderly exit would wait for the threads.
        log.error("web.left_requests requests=%d", len(asgi.requests))
        logging.shutdown()
        os._exit(server.exit_code)
    return server.exit_code
