"""The rehearsal providers behind a service's lanes. Proves that they are nothing else before it orders a fault."""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from ops.outage.errors import CannotPlay
from routing.lanes import Routing

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
    """One of them, over its own doors for operation. Those are open to this machine alone."""

    def __init__(self, client: aiohttp.ClientSession, address: str) -> None:
        self._client = client
        self._address = address

    async def prove(self) -> None:
        """Raise CannotPlay unless this is a rehearsal provider."""
        try:
            gauge = await self._get("gauge")
        except (aiohttp.ClientError, TimeoutError, ValueError):
            gauge = None
        if not (isinstance(gauge, dict) and {"in_flight", "max_in_flight", "total"} <= gauge.keys()):
            raise CannotPlay(
                f"What answers at {self._address} is not the rehearsal provider, or it is not there. "
                "Nothing was asked of it. Rehearse with a scripts/up that was started without COMPANION_ROUTING."
            )

    async def order(self, fault: dict[str, Any], *, match: str) -> None:
        """The next request with this text in its last message meets this fault."""
        order = {"fault": fault, "next": 1, "match": match}
        async with self._client.post(f"{self._address}/control", json=order, timeout=PATIENCE) as answer:
            answer.raise_for_status()

    async def asked(self, text: str) -> list[str]:
        """The last message of every request that had this text in it, oldest first."""
        last = [request["messages"][-1]["content"] for request in await self.requests()]
        return [message for message in last if text in message]

    async def requests(self) -> list[dict[str, Any]]:
        """Every request as the provider recorded it, oldest first."""
        requests: list[dict[str, Any]] = await self._get("asked")
        return requests

    async def _get(self, door: str) -> Any:
        async with self._client.get(f"{self._address}/{door}", timeout=PATIENCE) as answer:
            answer.raise_for_status()
            return await answer.json(content_type=None)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
