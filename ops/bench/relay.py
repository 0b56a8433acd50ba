"""`python -m ops.bench.relay --upstream URL`: what the service is measured against.

The least that Channels and Daphne can be asked to do: pass on what the provider says, frame by frame, to whoever
asked. It knows nobody, queues nothing and stores nothing. One path for each way to ask the
provider: `/ws/stock/`, `/ws/tuned/` (both httpx), `/ws/aiohttp/`, and `/ws/service/`, the service's own client.
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

from ops.bench.clients import Way, way  # noqa: E402

WAYS = ("stock", "tuned", "aiohttp", "service")


class Relay(AsyncWebsocketConsumer):
    """Passes on what is said, one frame for each piece."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        question = json.loads(text_data or "{}")["question"]
        self.task = asyncio.create_task(self._pass_on(question))

    async def _pass_on(self, question: str) -> None:
        ways: dict[str, Way] = self.scope["ways"]
        whole = False
        try:
            async for words, finish in ways[self.scope["url_route"]["kwargs"]["way"]](question):
                if words:
                    await self.send(text_data=json.dumps({"words": words}))
                whole = whole or finish == "stop"
        finally:
            await self.send(text_data=json.dumps({"ended": whole}))


class RelayServer(Server):
    """Daphne that says where it serves."""

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        print(f"relay: http://127.0.0.1:{port.getHost().port}", flush=True)


def serve(upstream: str) -> None:
    """Serve on any free port, and say which, until a signal comes."""
    ways: dict[str, Way] = {}
    router = URLRouter([path("ws/<way>/", Relay.as_asgi())])

    async def relay(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if not ways:
            ways.update({name: way(name, upstream) for name in WAYS})
        await router({**scope, "ways": ways}, receive, send)

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
