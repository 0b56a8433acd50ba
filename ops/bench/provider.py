"""The rehearsal provider, told to stamp its words, and asked when each question reached it."""

from pathlib import Path
from typing import Any

import httpx

from ops.bench.plan import WORDS, Load
from routing.rehearsal.doors import operator_headers


class Provider:
    """`url` is the provider's base url, as a lane names it; `tokens` the folder in which its token stands."""

    def __init__(self, url: str, *, tokens: Path) -> None:
        self._root = url.removesuffix("/v1")
        self._headers = operator_headers(tokens, url)

    def speak_as(self, load: Load) -> None:
        """From now on every reply has this load's pace, and each word is the moment it is sent."""
        fault = {
            "stamp": True,
            "words": WORDS,
            "pace_ms": load.pace_ms,
            "first_word_s": load.first_word_ms / 1000,
        }
        self._do("DELETE", "control")
        self._do("POST", "control", json={"next": None, "fault": fault})

    def forget(self) -> None:
        """Nothing has been asked."""
        self._do("DELETE", "asked")

    def started(self) -> dict[str, float]:
        """When each question arrived, in seconds of the machine's monotonic clock."""
        # A prompt may hold earlier questions; the new one is its last paragraph.
        return {
            one["messages"][-1]["content"].rsplit("\n\n", 1)[-1]: one["started"]
            for one in self._do("GET", "asked")
        }

    def _do(self, method: str, path: str, **body: Any) -> Any:
        answer = httpx.request(
            method, f"{self._root}/{path}", headers=self._headers, trust_env=False, timeout=30, **body
        )
        return answer.raise_for_status().json()
