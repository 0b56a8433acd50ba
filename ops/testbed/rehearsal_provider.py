"""Operates the rehearsal provider behind a service's lanes, after proving that it is one."""

from pathlib import Path
from typing import Any

import httpx

from routing.lanes import Routing
from routing.rehearsal.doors import operator_headers
from routing.web_addresses import is_loopback

REQUEST_TIMEOUT_S = 30.0
GAUGE_FIELDS = frozenset({"in_flight", "max_in_flight", "total"})


class NotRehearsalProvider(Exception):
    """A lane leads to a real provider, or what answers is something else. The text says the mend."""


def provider_addresses(routing: Routing) -> tuple[str, ...]:
    """Where the providers of all lanes are operated. Raises NotRehearsalProvider if a lane leads off this machine."""
    # Every lane, not only the chain in force: a selection may change the chain during the measurement.
    for lane in routing.lanes.values():
        if not is_loopback(lane.base_url):
            raise NotRehearsalProvider(
                f"Lane {lane.name} is a real provider, and this never touches one. "
                "Rehearse with a scripts/up that was started without COMPANION_ROUTING."
            )
    return tuple(
        dict.fromkeys(lane.base_url.rstrip("/").removesuffix("/v1") for lane in routing.lanes.values())
    )


class RehearsalProvider:
    """One provider, over the operator paths that it opens to this machine and its token alone.

    `address` is its root, without the version of a lane's `base_url`; `tokens` the folder that holds its token. Calls
    block: code on an event loop calls them in a thread. They raise httpx.HTTPError.
    """

    def __init__(self, address: str, *, tokens: Path) -> None:
        self.address = address
        self._tokens = tokens
        self._client = httpx.Client(base_url=address, trust_env=False, timeout=REQUEST_TIMEOUT_S)

    def __enter__(self) -> "RehearsalProvider":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def prove(self) -> None:
        """Raise NotRehearsalProvider unless a rehearsal provider answers here."""
        try:
            gauge = self.read_gauge()
        except (httpx.HTTPError, ValueError):
            gauge = None
        if not (isinstance(gauge, dict) and gauge.keys() >= GAUGE_FIELDS):
            raise NotRehearsalProvider(
                f"What answers at {self.address} is not the rehearsal provider, or it is not there. "
                "Nothing was asked of it. Rehearse with a scripts/up that was started without COMPANION_ROUTING, by "
                "the account that started it, and with its COMPANION_STATE_DIR."
            )

    def order_fault(
        self, fault: dict[str, Any], *, times: int | None = None, match: str | None = None
    ) -> None:
        """Give this fault to the next `times` requests, or to all; only to those whose last message holds `match`."""
        self._request("POST", "control", json={"fault": fault, "next": times, "match": match})

    def clear_faults(self) -> None:
        """Withdraw all orders."""
        self._request("DELETE", "control")

    def announce(self, mark: str) -> None:
        """Let the provider record the texts of requests with this mark. It records no others."""
        self._request("POST", "asked", json={"mark": mark})

    def read_requests(self) -> list[dict[str, Any]]:
        """Every request as the provider recorded it, oldest first."""
        requests: list[dict[str, Any]] = self._request("GET", "asked")
        return requests

    def read_prompts(self, text: str) -> list[str]:
        """The last message of every request that contained this text, oldest first."""
        chats = [request["messages"] for request in self.read_requests()]
        return [messages[-1]["content"] for messages in chats if messages and text in messages[-1]["content"]]

    def clear_requests(self) -> None:
        """Delete the record of requests."""
        self._request("DELETE", "asked")

    def read_gauge(self) -> dict[str, int]:
        """Replies in flight now, the most since the last reset, and all."""
        gauge: dict[str, int] = self._request("GET", "gauge")
        return gauge

    def reset_gauge(self) -> None:
        """Let the peak start from what is in flight now."""
        self._request("DELETE", "gauge")

    def _request(self, method: str, path: str, **body: Any) -> Any:
        # Read anew each time: a provider that was started again has another token.
        headers = operator_headers(self._tokens, self.address)
        return self._client.request(method, f"/{path}", headers=headers, **body).raise_for_status().json()
