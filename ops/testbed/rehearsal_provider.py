"""Operates the rehearsal provider behind a service's lanes, after proving that it is one."""

import ipaddress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from routing.lanes import Routing
from routing.rehearsal.doors import operator_headers

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=10)
GAUGE_FIELDS = frozenset({"in_flight", "max_in_flight", "total"})


class NotRehearsalProvider(Exception):
    """A lane leads to a real provider, or what answers is something else. The text says the mend."""


def provider_addresses(routing: Routing) -> tuple[str, ...]:
    """Where the providers of all lanes are operated. Raises NotRehearsalProvider if a lane leads off this machine."""
    # Every lane, not only the chain in force: a selection may change the chain during the measurement.
    for lane in routing.lanes.values():
        if not _is_loopback(urlsplit(lane.base_url).hostname or ""):
            raise NotRehearsalProvider(
                f"Lane {lane.name} is a real provider, and this never touches one. "
                "Rehearse with a scripts/up that was started without COMPANION_ROUTING."
            )
    return tuple(
        dict.fromkeys(lane.base_url.rstrip("/").removesuffix("/v1") for lane in routing.lanes.values())
    )


def is_gauge(document: object) -> bool:
    """Whether this is what a rehearsal provider answers on `/gauge`."""
    return isinstance(document, dict) and document.keys() >= GAUGE_FIELDS


class RehearsalProvider:
    """One provider, over the operator paths that it opens to this machine and its token alone.

    `tokens` is the folder that holds the token.
    """

    def __init__(self, client: aiohttp.ClientSession, address: str, *, tokens: Path) -> None:
        self._client = client
        self._address = address
        self._tokens = tokens

    async def prove(self) -> None:
        """Raise NotRehearsalProvider unless a rehearsal provider answers here."""
        try:
            gauge = await self._get("gauge")
        except (aiohttp.ClientError, TimeoutError, ValueError):
            gauge = None
        if not is_gauge(gauge):
            raise NotRehearsalProvider(
                f"What answers at {self._address} is not the rehearsal provider, or it is not there. "
                "Nothing was asked of it. Rehearse with a scripts/up that was started without COMPANION_ROUTING, by "
                "the account that started it, and with its COMPANION_STATE_DIR."
            )

    async def order_fault(self, fault: dict[str, Any], *, match: str) -> None:
        """Give this fault to the next request whose last message contains `match`."""
        await self._post("control", {"fault": fault, "next": 1, "match": match})
        # The provider records texts only of questions that are announced to it.
        await self._post("asked", {"mark": match})

    async def prompts(self, text: str) -> list[str]:
        """The last message of every request that contained this text, oldest first."""
        chats = [request["messages"] for request in await self.requests()]
        return [messages[-1]["content"] for messages in chats if messages and text in messages[-1]["content"]]

    async def requests(self) -> list[dict[str, Any]]:
        """Every request as the provider recorded it, oldest first."""
        requests: list[dict[str, Any]] = await self._get("asked")
        return requests

    async def _post(self, path: str, body: dict[str, Any]) -> None:
        url, headers = f"{self._address}/{path}", self._headers()
        async with self._client.post(url, json=body, headers=headers, timeout=REQUEST_TIMEOUT) as answer:
            answer.raise_for_status()

    async def _get(self, path: str) -> Any:
        url, headers = f"{self._address}/{path}", self._headers()
        async with self._client.get(url, headers=headers, timeout=REQUEST_TIMEOUT) as answer:
            answer.raise_for_status()
            return await answer.json(content_type=None)

    def _headers(self) -> dict[str, str]:
        return operator_headers(self._tokens, self._address)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
