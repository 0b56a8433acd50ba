"""Starts a crowd of simulated people in a process of its own, and exchanges one JSON line for each order."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ops.testbed.processes import CLIENT_STAGE, GRACE_S, Children


class CrowdProcess:
    """A running `ops.bench.crowd`. `connected_s` is how long it took all of its people to connect."""

    def __init__(self, children: Children, name: str, plan: Mapping[str, Any]) -> None:
        self._name = name
        self._children = children
        self._process = children.spawn(name, ["-m", "ops.bench.crowd"], stage=CLIENT_STAGE)
        self.connected_s: float = self._order(plan)["connected_s"]

    def ask(self, label: str, *, places: Sequence[int], times: int) -> dict[str, Any]:
        """Let the people at these places ask at once, `times` in a row. Returns their replies and the CPU it took."""
        return self._order({"ask": label, "places": list(places), "times": times})

    def leave(self) -> None:
        """Close all connections and end the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(GRACE_S)
        self._children.end(self._name)

    def _order(self, order: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise self._children.failure_of(self._name)
        answer: dict[str, Any] = json.loads(line)
        return answer
