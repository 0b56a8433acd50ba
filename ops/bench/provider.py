"""Operates the rehearsal provider of a bench: sets its pace, and reads when each question reached it."""

from pathlib import Path
from typing import Any

import httpx

from ops.bench.plan import WORDS, BenchLoad
from routing.rehearsal.doors import operator_headers


class BenchProvider:
    """`url` is the provider's base url, as a lane names it; `tokens` the folder that holds its token."""

    def __init__(self, url: str, *, tokens: Path) -> None:
        self._root = url.removesuffix("/v1")
        self._headers = operator_headers(tokens, url)

    def set_pace(self, load: BenchLoad) -> None:
        """Answer at this load's pace from now on; each word is the moment it is sent."""
        fault = {
            "stamp": True,
            "words": WORDS,
            "pace_ms": load.pace_ms,
            "first_word_s": load.first_word_ms / 1000,
        }
        self._request("DELETE", "control")
        self._request("POST", "control", json={"next": None, "fault": fault})

    def clear_requests(self) -> None:
        """Delete the record of requests."""
        self._request("DELETE", "asked")

    def read_starts(self) -> dict[str, float]:
        """When each question arrived, in seconds of the machine's monotonic clock."""
        # A prompt may contain earlier questions; the new one is its last paragraph.
        return {
            request["messages"][-1]["content"].rsplit("\n\n", 1)[-1]: request["started"]
            for request in self._request("GET", "asked")
        }

    def _request(self, method: str, path: str, **body: Any) -> Any:
        answer = httpx.request(
            method, f"{self._root}/{path}", headers=self._headers, trust_env=False, timeout=30, **body
        )
        return answer.raise_for_status().json()
