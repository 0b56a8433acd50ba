"""The rehearsal providers behind a service's lanes. Proves that they are nothing else before it orders a fault."""

import ipaddress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from ops.outage.errors import CannotPlay
from routing.lanes import Routing
from routing.rehearsal.doors import operator_headers

PATIENCE = aiohttp.ClientTimeout(total=10)


def addresses(routing: Routing) -> tuple[str, ...]:
    """Where the lanes' providers are operated. Raises CannotPlay if any lane leads beyond this machine."""
    # All lanes, not only the chain of the moment: a selection may change it while the story runs.
    for lane in routing.lanes.values():
        if not _is_here(urlsplit(lane.base_url).hostname or ""):
            raise CannotPlay(
                f"Lane {lane.name} is a real provider, and this never touches one. "
                "Rehearse with a scripts/up that was started without COMPANION_ROUTING."
            )
    return tuple(
        dict.fromkeys(lane.base_url.rstrip("/").removesuffix("/v1") for lane in routing.lanes.values())
    )


class RehearsalProvider:
    """One of them, over its own doors for operation. Those open to this machine and its token alone.

    `tokens` is the folder in which it stands.
    """

    def __init__(self, client: aiohttp.ClientSession, address: str, *, tokens: Path) -> None:
        self._client = client
        self._address = address
        self._tokens = tokens

    async def prove(self) -> None:
        """Raise CannotPlay unless this is a rehearsal provider."""
        try:
            gauge = await self._get("gauge")
        except (aiohttp.ClientError, TimeoutError, ValueError):
            gauge = None
        if not (isinstance(gauge, dict) and {"in_flight", "max_in_flight", "total"} <= gauge.keys()):
            raise CannotPlay(
                f"What answers at {self._address} is not the rehearsal provider, or it is not there. "
                "Nothing was asked of it. Rehearse with a scripts/up that was started without COMPANION_ROUTING, by "
                "the account that started it, and with its COMPANION_STATE_DIR."
            )

    async def order(self, fault: dict[str, Any], *, match: str) -> None:
        """The next request with this text in its last message meets this fault."""
        order = {"fault": fault, "next": 1, "match": match}
        await self._post("control", order)
        # The record keeps no texts but those of questions that were named to it.
        await self._post("asked", {"mark": match})

    async def asked(self, text: str) -> list[str]:
        """The last message of every request that had this text in it, oldest first."""
        told = [request["messages"] for request in await self.requests()]
        last = [messages[-1]["content"] for messages in told if messages]
        return [message for message in last if text in message]

    async def requests(self) -> list[dict[str, Any]]:
        """Every request as the provider recorded it, oldest first."""
        requests: list[dict[str, Any]] = await self._get("asked")
        return requests

    async def _post(self, door: str, body: dict[str, Any]) -> None:
        url, headers = f"{self._address}/{door}", self._headers()
        async with self._client.post(url, json=body, headers=headers, timeout=PATIENCE) as answer:
            answer.raise_for_status()

    def _headers(self) -> dict[str, str]:
        return operator_headers(self._tokens, self._address)

    async def _get(self, door: str) -> Any:
        url, headers = f"{self._address}/{door}", self._headers()
        async with self._client.get(url, headers=headers, timeout=PATIENCE) as answer:
            answer.raise_for_status()
            return await answer.json(content_type=None)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
