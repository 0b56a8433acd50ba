"""`python -m ops.bench.relay --upstream URL`: the bare relay that the service is compared with.

It does the least that Channels and Daphne can do: it passes each piece of the provider's reply on in one frame. It
has no sessions, no queue and no storage. One path for each HTTP client: `/ws/stock/`, `/ws/tuned/` (both httpx),
`/ws/aiohttp/`, and `/ws/service/`, the service's own client.
"""

import argparse
import asyncio
import json
from typing import Any

# Daphne installs Twisted's reactor, and must do so before anything else asks for one.
from daphne.server import Server  # isort: skip
from django.conf import settings

settings.configure(SECRET_KEY="nothing is signed here", LOGGING_CONFIG=None)

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.urls import path  # noqa: E402

from ops.bench.upstream_clients import StreamReply, build_upstream_client  # noqa: E402

CLIENTS = ("stock", "tuned", "aiohttp", "service")


class RelayConsumer(AsyncWebsocketConsumer):
    """Sends one frame for each piece of a reply."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        question = json.loads(text_data or "{}")["question"]
        self.task = asyncio.create_task(self._relay(question))

    async def _relay(self, question: str) -> None:
        clients: dict[str, StreamReply] = self.scope["clients"]
        whole = False
        try:
            async for words, finish in clients[self.scope["url_route"]["kwargs"]["client"]](question):
                if words:
                    await self.send(text_data=json.dumps({"words": words}))
                whole = whole or finish == "stop"
        finally:
            await self.send(text_data=json.dumps({"ended": whole}))


class RelayServer(Server):
    """Daphne that prints its address."""

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        print(f"relay: http://127.0.0.1:{port.getHost().port}", flush=True)


def serve(upstream: str) -> None:
    """Serve on a free port, and print it, until a signal comes."""
    clients: dict[str, StreamReply] = {}
    router = URLRouter([path("ws/<client>/", RelayConsumer.as_asgi())])

    async def relay(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if not clients:
            clients.update({name: build_upstream_client(name, upstream) for name in CLIENTS})
        await router({**scope, "clients": clients}, receive, send)

    RelayServer(
        application=ProtocolTypeRouter({"websocket": relay}),
        endpoints=["tcp:port=0:interface=127.0.0.1:backlog=2048"],
        websocket_connect_timeout=60,
        verbosity=0,
    ).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m ops.bench.relay", description=__doc__)
    parser.add_argument("--upstream", required=True, help="the provider's base url")
    serve(parser.parse_args().upstream)
